"""Tests do the same every time, in whatever order and company they run."""

import os
import signal

from hypothesis import settings

# before numpy and torch are loaded: sums depend on the number of threads, and so would runs in this process and in others
os.environ["OMP_NUM_THREADS"] = "1"
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it starts in the background ignore Ctrl-C
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
