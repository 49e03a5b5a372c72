"""The filters of LogTrend against the rule written plainly, group by group, in python floats."""

import math

import numpy as np
import pytest

import restsure as rs
from restsure.estimators import log_trend
from restsure.estimators.filters import FILTERS
from restsure.estimators.kalman import follow
from restsure.estimators.log_trend import LogTrendStates


def groups_of(losses: list[float]) -> list[tuple[float, int, float]]:
    """Mean, size and middle pull of each group: single losses up to the 40th, then a twentieth of those before."""
    found, start = [], 0
    while start < len(losses):
        part = losses[start : start + max(1, start // 20)]
        found.append((sum(part) / len(part), len(part), start + (len(part) + 1) / 2))
        start += len(part)
    return found


def flat(loss: float, height: float) -> float:
    return height * (1 + math.log(loss / height)) if loss > height else loss


class PlainRun:
    """One run of K arms: lists of losses, and for each arm the scale and noise its filters were last started with."""

    def __init__(self, n_arms: int, horizon: int):
        self.losses: list[list[float]] = [[] for _ in range(n_arms)]
        self.horizon, self.stock_at = horizon, 0.0
        self.height = math.inf
        self.bends: list[list[float]] = [[] for _ in range(n_arms)]  # squared second differences of usual losses
        self.used: list[tuple[float, float, float, float] | None] = [None] * n_arms
        self.alone = [[0.0] * len(FILTERS) for _ in range(n_arms)]
        self.weights = [[0.0] * len(FILTERS) for _ in range(n_arms)]
        self.restarts = 0

    def level(self, i: int) -> float:
        y = self.losses[i]
        mean = sum(y) / len(y)
        return min(mean, 4 * max(y[-2:])) if len(y) > 1 else mean

    def scale(self) -> float:
        means = [self.level(i) for i, y in enumerate(self.losses) if y]
        lower, upper = sorted(means)[(len(means) - 1) // 2], sorted(means)[len(means) // 2]
        middle = abs(lower + (min(upper, 64 * lower) if lower > 0 else upper)) / 2
        self.height = 8 * middle
        if len(means) == 1:
            return middle
        means = [min(mean, self.height) for mean in means]
        return max(1e-9, max(map(abs, means)) / 1_000, min(middle, max(8 * float(np.std(means)), middle / 10)))

    def noise(self, i: int) -> float:
        size, top, bottom = self.scale(), (0.02 * self.scale()) ** 2, 1.0
        own = []
        for bends in self.bends:
            n = len(bends) + 2
            first = 3 if n < 32 else 2 ** (int(math.log2(n)) - 1)  # the last power of two but one
            terms = [(s - 1, bends[s - 3]) for s in range(first, n + 1)]
            own.append(sum(w * d / 6 for w, d in terms) / sum(w for w, _ in terms) if terms else 0.0)
            top += min(len(bends), 10) * own[-1]
            bottom += min(len(bends), 10)
        extra = len(self.bends[i])
        return max((20 * top / bottom + extra * own[i]) / (20 + extra), (0.001 * size) ** 2)

    def tell(self, arm: int, block: list[float]) -> None:
        first = not self.losses[arm]
        for loss in block:
            y = self.losses[arm]
            y.append(loss)
            if len(y) > 2:
                now, before, earlier = y[:-4:-1]
                self.bends[arm].append((now - 2 * before + earlier) ** 2 if max(y[-3:]) <= self.height else 0.0)
        changed = {arm}
        if sum(map(len, self.losses)) >= self.stock_at or first:
            self.stock_at = 1.05 * sum(map(len, self.losses))
            for i, y in enumerate(self.losses):
                now, used = (self.scale(), self.noise(i)), self.used[i]
                high = y and used is not None and max(y) > min(self.height, used[3])
                moved = used is None or any(not 1 / 1.25 <= now[k] / used[k] <= 1.25 for k in (0, 1))
                if y and (moved or (high and not 1 / 1.25 <= self.height / used[3] <= 1.25)):
                    self.restarts += used is not None
                    own = abs(flat(self.level(i), self.height))
                    self.used[i] = (*now, own if own > 1.5 * now[0] else now[0], self.height)
                    changed.add(i)
        for i in changed:
            odds = [math.log(f.weight) + self.filtered(i, f)[5] for f in FILTERS]
            odds = [math.exp(x - max(odds)) for x in odds]
            self.alone[i] = [x / sum(odds) for x in odds]
        shared = [8 * f.weight + sum(p[j] for p in self.alone) for j, f in enumerate(FILTERS)]
        for i in changed:
            weights = [p * q / f.weight for p, q, f in zip(self.alone[i], shared, FILTERS, strict=True)]
            self.weights[i] = [w / sum(weights) for w in weights]

    def filtered(self, i: int, f) -> tuple[float, float, float, float, float, float, float]:
        size, noise, steep, height = self.used[i]
        s0 = f.offset * self.horizon
        level, trend, a, b, c, log_likelihood = size, 0.1 * size, (2 * size) ** 2, 0.0, (f.slope_sd * steep) ** 2, 0.0
        before = None
        for y, count, middle in groups_of(self.losses[i]):
            if before is not None:
                du = math.log((middle + s0) / (before + s0))
                e = math.exp(-f.rho * du)
                g = (1 - e) / f.rho
                q = min(max(abs(level), 0.02 * size), 2 * size)
                level, trend = level - g * trend, trend * e
                a += -2 * g * b + g * g * c + (f.level_noise * q) ** 2 * du
                b = e * (b - g * c)
                c = e * e * c + (f.trend_noise * q) ** 2 * du
            total = a + noise / count
            error = flat(y, height) - level
            log_likelihood -= 0.5 * (math.log(2 * math.pi * total) + error * error / total)
            level, trend = level + a / total * error, trend + b / total * error
            a, b, c = a - a * a / total, b - a * b / total, c - b * b / total
            before = middle
        return level, trend, a, b, c, log_likelihood, before

    def predict(self, i: int, m: int) -> tuple[float, float]:
        means, variances = [], []
        for f in FILTERS:
            level, trend, a, b, c, _, at = self.filtered(i, f)
            s0, size = f.offset * self.horizon, self.used[i][0]
            d = math.log((max(m, at) + s0) / (at + s0))
            e = math.exp(-f.rho * d)
            g = (1 - e) / f.rho
            q = min(max(abs(level), 0.02 * size), 2 * size)
            means.append(max(level - max(trend, 0) * g, 0) if level >= 0 else level - max(trend, 0) * g)
            drift = f.level_noise**2 * d + f.trend_noise**2 * (d - 2 * g + (1 - e * e) / (2 * f.rho)) / f.rho**2
            variances.append(a - 2 * g * b + g * g * c + q * q * drift)
        mean = sum(w * x for w, x in zip(self.weights[i], means, strict=True))
        spread = sum(w * (v + (x - mean) ** 2) for w, v, x in zip(self.weights[i], variances, means, strict=True))
        return mean, math.sqrt(spread)


@pytest.mark.parametrize("seed", range(8))
def test_same_as_the_plain_filters(seed: int) -> None:
    """Random blocks to random arms of several runs; after each, every arm's prediction at several pull counts agrees."""
    rng = np.random.default_rng(seed)
    runs, n_arms, horizon = 3, 4, 400
    states = LogTrendStates(runs, np.full(n_arms, float(horizon)))
    plain = [PlainRun(n_arms, horizon) for _ in range(runs)]
    alpha, beta = rng.uniform(0.1, 0.8, (runs, n_arms)), rng.uniform(0.05, 0.4, (runs, n_arms))
    for _ in range(24):
        block = int(rng.integers(1, 16))
        chosen = [(run, int(rng.integers(n_arms))) for run in range(runs)]
        cells = np.array([run * n_arms + arm for run, arm in chosen])
        rows = []
        for run, arm in chosen:
            start = len(plain[run].losses[arm])
            s = np.arange(start + 1, start + block + 1)
            rows.append(alpha[run, arm] * s**-0.4 + beta[run, arm] + rng.normal(0, 0.03, block))
            if seed % 2 and arm == 0:
                rows[-1] *= np.where(s < 4, 10.0 ** rng.uniform(0, 6), 1.0)  # it starts anywhere
        states.update(cells, np.array(rows))
        told = states.refresh(np.arange(runs))
        assert set(cells) <= set(told)
        for (run, arm), row in zip(chosen, rows, strict=True):
            plain[run].tell(arm, row.tolist())
        for run in range(runs):
            for arm in range(n_arms):
                n = len(plain[run].losses[arm])
                for m in (n, n + 7, horizon):
                    mean, sd = states.predict(np.array([run * n_arms + arm]), np.array([float(m)]))
                    if n == 0:
                        assert np.isinf([mean[0], sd[0]]).all()
                    else:
                        assert (mean[0], sd[0]) == pytest.approx(plain[run].predict(arm, m), rel=1e-7), (run, arm, m)
    assert sum(run.restarts for run in plain) > 3  # filters were run again on the way
    assert max(len(y) for run in plain for y in run.losses) > 45  # and losses stood in groups


def fed(losses: np.ndarray, horizon: float = 1_000.0) -> LogTrendStates:
    states = LogTrendStates(1, np.full(len(losses), horizon))
    states.update(slice(None), losses)
    states.refresh(np.array([0]))
    return states


def test_scaling_all_losses_scales_the_prediction() -> None:
    losses = 0.5 * np.arange(1, 41) ** -0.5 + 0.2 + np.random.default_rng(1).normal(0, 0.02, (3, 40))
    one, seven = (np.array(fed(k * losses).predict(slice(None), np.full(3, 100.0))) / k for k in (1.0, 7.0))
    np.testing.assert_allclose(one, seven, rtol=1e-9)


def test_refits_stay_few_and_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a whole game the filters take some steps for each group of losses, and there are few groups."""
    states, steps = LogTrendStates(1, np.full(4, 20_000.0)), 0

    def counting(state, all_steps, losses, noises):
        nonlocal steps
        steps += len(all_steps) * state.shape[2]
        return follow(state, all_steps, losses, noises)

    monkeypatch.setattr(log_trend, "follow", counting)
    rng = np.random.default_rng(2)
    for s in range(1, 5_001):
        losses = 0.5 * s**-0.5 + np.array([[0.1], [0.2], [0.3], [0.15]]) + rng.normal(0, 0.05, (4, 1))
        states.update(slice(None), losses)
        if s < 40 or s % (s // 20) == 0:
            states.refresh(np.array([0]))
    groups = int(states.losses.groups.complete(np.array([5_000]))[0])
    assert groups < 40 + 20 * math.log(5_000 / 40) + 20
    assert states.losses.sums.shape[1] < 2 * groups + 16  # what is kept of 5,000 losses
    assert 4 * groups < steps < 12 * 4 * groups


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_one_at_every_reach(seed: int) -> None:
    """Between two pull counts the mean is never below the bound, nor the spread above it."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([2, 5, 60]))
    curves = rng.uniform(0, 1, (40, 1)) * np.arange(1, n + 1) ** -rng.uniform(-0.5, 2, (40, 1)) + rng.uniform(
        0, 0.3, (40, 1)
    )
    for states in (fed(curves + rng.normal(0, 0.05, curves.shape)),):
        for near, far in ((n, 1_000), (300, 330), (n + 1, n + 40)):
            low, high = states.bound(slice(None), np.full(40, float(near)), np.full(40, float(far)))
            for m in np.linspace(near, far, 23):
                mean, sd = states.predict(slice(None), np.full(40, m))
                assert (mean >= low - 1e-12).all()
                assert (sd <= high + 1e-12).all()


def test_floor_is_where_losses_are_measured_from() -> None:
    """Adding a constant to all losses and to the floor changes nothing but the level."""
    table = np.random.default_rng(3).normal(0, 0.02, (4, 150)) + np.array([[0.3], [0.4], [0.2], [0.5]])
    from restsure.testing.conformance import play

    plain = play(rs.HorizonLCB(), table)
    lifted = play(rs.HorizonLCB(floor=2.0), table + 2.0)
    assert plain.pulls == lifted.pulls
    assert lifted.recommend().loss == pytest.approx(plain.recommend().loss + 2.0)


@pytest.mark.parametrize(
    ("curve", "name"),
    [
        (lambda s: 0.8 * s**-0.5 + 0.1, "a power law of the paper"),
        (lambda s: 0.9 - 0.0005 * s, "a straight line"),
        (lambda s: 0.9 - 0.08 * np.log(s), "a line in log-time"),
        (lambda s: 0.8 / s + 0.1, "one that is soon done"),
        (lambda s: 0.8 * (1 + s / 50) ** -0.5 + 0.1, "one that starts late"),
    ],
)
def test_follows_curves_of_many_shapes(curve, name: str) -> None:
    """Noise of .01, 300 of 1,000 losses seen: the final loss is within two spreads and .1."""
    rng = np.random.default_rng(4)
    states = fed(np.stack([curve(np.arange(1.0, 301)), np.full(300, 0.5)]) + rng.normal(0, 0.01, (2, 300)))
    mean, sd = states.predict(slice(None), np.full(2, 1_000.0))
    assert abs(mean[0] - curve(1_000.0)) < min(2 * sd[0], 0.1), name
