"""Tests do the same every time, in whatever order and company they run."""

import os
import signal

import pytest
from hypothesis import settings

# before numpy and torch are loaded: sums depend on the number of threads, and so would runs in this process and in others
os.environ["OMP_NUM_THREADS"] = "1"
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it starts in the background ignore Ctrl-C
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


@pytest.fixture
def opened():
    """Open crews that are closed in the end."""
    from restsure.training.meter import Meter  # not before the threads are set

    crews = []

    def open_crew(executor, candidates, meter=None):
        crews.append(executor.open(candidates, meter or Meter(100, "training steps")))
        return crews[-1]

    yield open_crew
    for crew in crews:
        crew.close()
