"""Tests do the same every time, in whatever order and company they run."""

import os

# before numpy and torch are loaded: sums depend on the number of threads, and so would runs in this process and in others
os.environ["OMP_NUM_THREADS"] = "1"

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
