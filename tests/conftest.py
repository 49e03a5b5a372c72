"""Hypothesis draws the same examples every time: a failure is found by whoever made it, not by whoever comes next."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
