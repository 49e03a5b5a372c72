"""What is worked out for many arms at once is what it is for each alone."""

import numpy as np
import pytest

from restsure.estimators.log_trend import LogTrendStates


def curves(cells: int, longest: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    alpha, beta = rng.uniform(0.1, 0.8, (cells, 1)), rng.uniform(0.05, 0.4, (cells, 1))
    return alpha * np.arange(1, longest + 1) ** -0.5 + beta + rng.normal(0, 0.05, (cells, longest))


@pytest.mark.parametrize("runs", [5, 60])
def test_filters_of_many_lengths_run_together(runs: int) -> None:
    """Runs of one arm each, with 1 to 150 losses: those that have fewer wait, and nothing of that shows."""
    losses = curves(runs, 150, seed=runs)
    lengths = np.random.default_rng(0).integers(1, 151, runs)
    together = LogTrendStates(runs, np.array([200.0]))
    for run, length in enumerate(lengths):
        together.update(np.array([run]), losses[run, None, :length])
    together.refresh(np.arange(runs))
    mean, sd = together.predict(slice(None), np.full(runs, 180.0))
    for run, length in enumerate(lengths):
        alone = LogTrendStates(1, np.array([200.0]))
        alone.update(np.array([0]), losses[run, None, :length])
        alone.refresh(np.array([0]))
        expected = [part[0] for part in alone.predict(slice(None), np.array([180.0]))]
        assert [mean[run], sd[run]] == pytest.approx(expected, rel=1e-12)
