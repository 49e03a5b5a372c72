"""Losses in groups that grow with their number."""

import numpy as np
import pytest

from restsure.estimators.thinned import Groups, ThinnedLosses


def test_groups_are_a_twentieth_of_what_came_before() -> None:
    groups = Groups()
    groups.reach(100_000)
    sizes = np.diff(groups.edges)
    assert (sizes[:40] == 1).all()
    assert (sizes == np.maximum(groups.edges[:-1] // 20, 1)).all()
    assert groups.complete(np.array([0, 1, 39, 40, 41, 42, 43])).tolist() == [0, 1, 39, 40, 40, 41, 41]


@pytest.mark.parametrize("seed", range(4))
def test_any_blocks_give_the_same_groups(seed: int) -> None:
    """Told in random blocks to random cells: mean, size and middle of every group are those of the series."""
    rng = np.random.default_rng(seed)
    series = rng.normal(size=(3, 700))
    thinned, told = ThinnedLosses(3), np.zeros(3, dtype=int)
    for _ in range(40):
        cells = np.flatnonzero(rng.random(3) < 0.7)
        block = int(rng.integers(1, 16))
        if cells.size:
            thinned.update(cells, np.stack([series[c, told[c] : told[c] + block] for c in cells]))
            told[cells] += block
    for cell in range(3):
        start, group = 0, 0
        while start < told[cell]:
            part = series[cell, start : min(start + max(1, start // 20), told[cell])]
            complete = group < thinned.groups.complete(told[[cell]])[0]
            mean, size = (thinned.means if complete else thinned.begun)(np.array([cell]), np.array([group]))[:2]
            middle = thinned.groups.middles[group] if complete else thinned.begun(cell, group)[2]
            assert (mean[0], size[0], middle) == pytest.approx((part.mean(), len(part), start + (len(part) + 1) / 2))
            start, group = start + max(1, start // 20), group + 1
    assert thinned.sums.shape[1] <= 128
