"""The filters of LogTrend against the rule written plainly, loss by loss, in python floats."""

import math

import numpy as np
import pytest

import restsure as rs
from restsure.estimators.log_trend import LogTrendStates


class PlainRun:
    """One run of K arms: lists of losses, and for each arm the scale and noise its filters were last started with."""

    def __init__(self, n_arms: int, horizon: int):
        self.losses: list[list[float]] = [[] for _ in range(n_arms)]
        self.offsets = (0.0, horizon / 20, horizon / 2)
        self.used: list[tuple[float, float] | None] = [None] * n_arms

    def scale(self) -> float:
        means = [sum(y) / len(y) for y in self.losses if y]
        middle = float(np.median(means))
        return max(1e-9, min(middle, max(8 * float(np.std(means)), middle / 10)))

    def noise(self, i: int) -> float:
        size, top, bottom = self.scale(), (0.02 * self.scale()) ** 2, 1.0
        own = []
        for y in self.losses:
            terms = [((s - 1), (y[s - 1] - 2 * y[s - 2] + y[s - 3]) ** 2) for s in range(3, len(y) + 1)]
            own.append(sum(w * d / 6 for w, d in terms) / sum(w for w, _ in terms) if terms else 0.0)
            top += min(max(len(y) - 2, 0), 10) * own[-1]
            bottom += min(max(len(y) - 2, 0), 10)
        extra = max(len(self.losses[i]) - 2, 0)
        return max((20 * top / bottom + extra * own[i]) / (20 + extra), (0.001 * size) ** 2)

    def tell(self, blocks: dict[int, list[float]]) -> None:
        for i, block in blocks.items():
            self.losses[i] += block
        for i, y in enumerate(self.losses):
            if not y:
                continue
            now, used = (self.scale(), self.noise(i)), self.used[i]
            if used is None or any(not 1 / 1.25 <= a / b <= 1.25 for a, b in zip(now, used, strict=True)):
                self.used[i] = now

    def predict(self, i: int, m: int) -> tuple[float, float]:
        size, noise = self.used[i]
        means, variances, weights = [], [], []
        for s0, prior, sd in zip(self.offsets, (0.6, 0.3, 0.1), (0.3, 0.6, 0.6), strict=True):
            level, trend, a, b, c, log_likelihood = size, 0.1 * size, size**2, 0.0, (sd * size) ** 2, 0.0
            for n, y in enumerate(self.losses[i]):
                if n:
                    du = math.log((n + 1 + s0) / (n + s0))
                    f = math.exp(-du / 2)
                    g = (1 - f) * 2
                    q = min(max(level, 0.02 * size), 2 * size)
                    level, trend = level - g * trend, trend * f
                    a += -2 * g * b + g * g * c + (0.05 * q) ** 2 * du
                    b = f * (b - g * c)
                    c = f * f * c + (0.10 * q) ** 2 * du
                total = a + noise
                e = y - level
                log_likelihood -= 0.5 * (math.log(2 * math.pi * total) + e * e / total)
                level, trend = level + a / total * e, trend + b / total * e
                a, b, c = a - a * a / total, b - a * b / total, c - b * b / total
            n = len(self.losses[i])
            d = math.log((m + s0) / (n + s0))
            f = math.exp(-d / 2)
            g = (1 - f) * 2
            q = min(max(level, 0.02 * size), 2 * size)
            means.append(level - max(trend, 0) * g)
            drift = 0.05**2 * d + 0.10**2 * (d - 2 * g + (1 - f * f)) * 4
            variances.append(a - 2 * g * b + g * g * c + q * q * drift)
            weights.append(math.log(prior) + log_likelihood)
        top = max(weights)
        weights = [math.exp(w - top) for w in weights]
        weights = [w / sum(weights) for w in weights]
        mean = sum(w * x for w, x in zip(weights, means, strict=True))
        spread = sum(w * (v + (x - mean) ** 2) for w, v, x in zip(weights, variances, means, strict=True))
        return mean, math.sqrt(spread)


@pytest.mark.parametrize("seed", range(8))
def test_same_as_the_plain_filters(seed: int) -> None:
    """Random blocks to random arms of several runs; after each, every arm's prediction at several pull counts agrees."""
    rng = np.random.default_rng(seed)
    runs, n_arms, horizon = 3, 4, 120
    states = LogTrendStates(runs, n_arms, horizon)
    plain = [PlainRun(n_arms, horizon) for _ in range(runs)]
    alpha, beta = rng.uniform(0.1, 0.8, (runs, n_arms)), rng.uniform(0.05, 0.4, (runs, n_arms))
    restarts = 0
    for _ in range(14):
        block = int(rng.integers(1, 5))
        chosen = [(run, int(rng.integers(n_arms))) for run in range(runs)]
        cells = np.array([run * n_arms + arm for run, arm in chosen])
        rows = []
        for run, arm in chosen:
            start = len(plain[run].losses[arm])
            s = np.arange(start + 1, start + block + 1)
            rows.append(alpha[run, arm] * s**-0.4 + beta[run, arm] + rng.normal(0, 0.03, block))
        before = [list(run.used) for run in plain]
        states.update(cells, np.array(rows))
        states.refresh(np.arange(runs))
        for (run, arm), row in zip(chosen, rows, strict=True):
            plain[run].tell({arm: row.tolist()})
        restarts += sum(
            a is not None and a != b
            for old, run in zip(before, plain, strict=True)
            for a, b in zip(old, run.used, strict=True)
        )
        for run in range(runs):
            for arm in range(n_arms):
                n = len(plain[run].losses[arm])
                for m in (n, n + 7, horizon):
                    mean, sd = states.predict(np.array([run * n_arms + arm]), np.array([float(m)]))
                    if n == 0:
                        assert np.isinf([mean[0], sd[0]]).all()
                    else:
                        assert (mean[0], sd[0]) == pytest.approx(plain[run].predict(arm, m), rel=1e-8), (run, arm, m)
    assert restarts > 3  # filters were run again on the way


def test_scaling_all_losses_scales_the_prediction() -> None:
    rng = np.random.default_rng(1)
    losses = 0.5 * np.arange(1, 41) ** -0.5 + 0.2 + rng.normal(0, 0.02, (3, 40))
    predictions = []
    for factor in (1.0, 7.0):
        states = LogTrendStates(1, 3, 100)
        states.update(slice(None), factor * losses)
        states.refresh(np.array([0]))
        predictions.append(np.array(states.predict(slice(None), np.full(3, 100.0))) / factor)
    np.testing.assert_allclose(predictions[0], predictions[1], rtol=1e-9)


def test_refits_stay_few() -> None:
    """The cost of running filters again is bounded: over a whole game they see each loss two or three times, not n times."""
    states = LogTrendStates(1, 4, 2_000)
    seen = 0
    run = states._run

    def counting(cells: np.ndarray) -> None:
        nonlocal seen
        seen += int((states.roughness.pulls[cells] - states.done[cells]).sum())
        run(cells)

    states._run = counting  # type: ignore[method-assign]
    rng = np.random.default_rng(2)
    for s in range(1, 501):
        losses = 0.5 * s**-0.5 + np.array([[0.1], [0.2], [0.3], [0.15]]) + rng.normal(0, 0.05, (4, 1))
        states.update(slice(None), losses)
        states.refresh(np.array([0]))
    assert seen < 3 * 2_000  # every loss three times at the most, on average


def test_floor_is_where_losses_are_measured_from() -> None:
    """Adding a constant to all losses and to the floor changes nothing but the level."""
    table = np.random.default_rng(3).normal(0, 0.02, (4, 150)) + np.array([[0.3], [0.4], [0.2], [0.5]])
    from restsure.testing.conformance import play

    plain = play(rs.HorizonLCB(), table)
    lifted = play(rs.HorizonLCB(floor=2.0), table + 2.0)
    assert plain.pulls == lifted.pulls
    assert lifted.recommend().loss == pytest.approx(plain.recommend().loss + 2.0)


def test_prediction_is_right_in_the_model() -> None:
    """Without noise the curve ``alpha s**-1/2 + beta`` is followed: the prediction at 10 times the pulls is within 10 %."""
    states = LogTrendStates(1, 2, 1_000)
    s = np.arange(1, 101)
    states.update(slice(None), np.stack([0.8 * s**-0.5 + 0.1, 0.2 * s**-0.5 + 0.3]))
    states.refresh(np.array([0]))
    mean, sd = states.predict(slice(None), np.full(2, 1_000.0))
    truth = np.array([0.8, 0.2]) * 1_000**-0.5 + np.array([0.1, 0.3])
    assert mean == pytest.approx(truth, rel=0.1)
    assert (np.abs(mean - truth) < 2 * sd).all()
