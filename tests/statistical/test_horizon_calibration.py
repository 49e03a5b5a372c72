"""The 90 % interval of the default policy covers about as often as it says, in the model and on recorded curves."""

import pytest

from benchmarks.calibration import covered
from restsure.simulation.suites import SUITES
from tests.chance import fewest_events, most_events
from tests.simulation.test_data import real_data

RUNS = 200


@pytest.mark.parametrize(
    ("suite", "name"),
    [
        ("in-model", "random, K = 8, T = 1,000, Gaussian .1"),
        ("in-model", "crossing, K = 8, T = 1,000, Bernoulli"),
        ("curves", "LCDB mean, K = 10, T = 256"),
        ("curves", "LCBench surrogate, K = 5, T = 52"),
    ],
)
def test_covers_about_nine_times_in_ten(suite: str, name: str) -> None:
    """Neither below 85 % nor above 97 %, beyond chance."""
    row = next(row for row in SUITES[suite](real_data()) if row.name == name)
    share, _ = covered(row, RUNS, 5)
    assert fewest_events(RUNS, 0.85) <= RUNS * share <= most_events(RUNS, 0.97)
