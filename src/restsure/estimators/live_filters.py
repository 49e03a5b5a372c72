"""The learning curves of one live game, in plain numbers.

Arrays pay off where many arms have new losses at a time. In a live game one has, and a handful of numbers is reckoned with
sooner one by one: here is for one game what :class:`Roughness`, :class:`ThinnedLosses` and :class:`LogTrendStates`, whose
docstrings have the mathematics, are for many. The three formulas at the top serve both: interpreted, they take arrays too.

Nothing is imported here but functions of numbers and constants, so that mypyc can compile it (``hatch_build.py``).
"""

import math

from restsure.estimators.filters import ALOFT, LEAST_SIZE, LEVEL_SD, MOST_SIZE, STALE
from restsure.estimators.roughness import FADES, HEIGHT, OWN, POOLED, RUNAWAY, STOCK
from restsure.estimators.thinned import SHARE

Step = tuple[float, float, float, float, float]
"""What a step ``du`` of log-time does to a filter: the share ``f = exp(-rho du)`` of the trend that stays, ``1 - f``,
``f * f``, and the process noise of the level and of the trend, as shares of the squared size."""

State = tuple[float, float, float, float, float, float]
"""A filter: level, its variance, trend, their covariance, variance of the trend, twice the log of weight and likelihood."""

Outlook = tuple[float, float, float, float, float, float, float, float]
"""What predictions need of a filter but its weight: START, SPREAD, SINCE, FALL, DRIFT, LESS, MORE, BOTTOM (filters.py)."""

Way = tuple[float, float, float, float, float, float, float, float, float]
"""What is a filter's own: ``-rho``, process noise of level and trend, prior mean and variance of the trend, DRIFT and CURB of
its predictions in units of the size, and the least and the most that the trend counts for there."""


def begin(scale: float, steep: float, slope: float, slope_variance: float) -> tuple[float, float, float, float, float]:
    """The prior of a filter: level, its variance, trend, their covariance and variance of the trend."""
    return scale, LEVEL_SD**2 * (scale * scale), slope * scale, 0.0, slope_variance * (steep * steep)


def advance(
    level: float, p11: float, trend: float, p12: float, p22: float, size: float, step: Step, loss: float, noise: float
) -> tuple[float, float, float, float, float, float, float]:
    """One step of log-time and the loss of some variance that it leads to.

    ``size``: what process noise is a share of, squared. Returns the filter after it, the error of the prediction, and the
    variance of that. A step of no length to a loss of infinite variance changes nothing.
    """
    f, h, square, moves_level, moves_trend = step
    # The level drops by the trend, the trend dies out, and both become less certain.
    level = level - h * trend
    less = p12 - h * p22
    p11 = p11 + (moves_level * size - h * (p12 + less))
    p12 = less * f
    p22 = p22 * square + moves_trend * size
    # The scalar Kalman step.
    error, variance = loss - level, p11 + noise
    gain, trend_gain = p11 / variance, p12 / variance
    left = 1 - gain
    trend = trend * f + trend_gain * error
    return level + gain * error, p11 * left, trend, p12 * left, p22 - trend_gain * p12, error, variance


def wander(size: float, p12: float, p22: float, drift: float, curb: float) -> tuple[float, float, float]:
    """DRIFT, LESS and MORE.

    With ``h = 1 - exp(-rho du)`` the mean is ``START - FALL h`` and the variance ``SPREAD + DRIFT du - h (LESS - MORE h)``.
    """
    curb = curb * size
    return drift * size, p12 + p12 + curb, p22 - 0.5 * curb


def followed(state: State, step: Step, loss: float, noise: float, least: float, most: float) -> State:
    """A filter after a step to a loss of that variance; process noise is a share of a size within these limits, squared."""
    level, p11, trend, p12, p22, likelihood = state
    size = clipped(level * level, least, most)
    level, p11, trend, p12, p22, error, variance = advance(level, p11, trend, p12, p22, size, step, loss, noise)
    return level, p11, trend, p12, p22, likelihood - (math.log(variance) + error * error / variance)


def looked_ahead(state: State, way: Way, since: float, least: float, most: float) -> Outlook:
    """What predictions need of a filter that has come that far along log-time."""
    level, p11, trend, p12, p22, _ = state
    _, _, _, _, _, drift, curb, low, high = way
    drifts, less, more = wander(clipped(level * level, least, most), p12, p22, drift, curb)
    return level, p11, since, clipped(trend, low, high), drifts, less, more, 0.0 if level >= 0 else -math.inf


def foreseen(outlook: Outlook, when: float, rate: float) -> tuple[float, float]:
    """Mean and variance of a filter that far along its log-time; ``rate`` is ``-rho``."""
    start, spread, since, fall, drift, less, more, bottom = outlook
    time = when - since
    h = 1 - math.exp(rate * time)
    mean = start - fall * h
    return mean if mean > bottom else bottom, spread + drift * time - h * (less - more * h)


OF_ARM = (
    *("pulls", "before", "last", "total", "highest", "squares", "older", "ends", "skipped", "sums", "edge"),
    *("scale", "noise", "height", "filters", "done", "seen", "at", "outlook", "alone", "weights"),
)
"""What losses change in an arm."""


class Track:
    """Groups of losses along log-time, for arms of one length, whose filters have the same offsets."""

    def __init__(self, ways: list[Way], offsets: list[float]) -> None:
        self.ways, self.offsets = ways, offsets
        self.rates = [way[0] for way in ways]
        self.steps: list[list[Step]] = [
            [] for _ in ways
        ]  # of each filter, to each group from the one before it; none to the first
        self.ends: list[list[float]] = []  # where they lead

    def reach(self, groups: int, edges: list[int]) -> None:
        """Look up the steps to so many groups at least."""
        for k in range(len(self.ends), groups):
            end = self.when((edges[k] + edges[k + 1] + 1) / 2)
            for steps, step in zip(self.steps, self.step(self.ends[k - 1] if k else end, end), strict=True):
                steps.append(step)
            self.ends.append(end)

    def when(self, pull: float) -> list[float]:
        """Where a pull, which may be a half, is along the log-time of each filter."""
        return [math.log(pull + offset) for offset in self.offsets]

    def step(self, before: list[float], after: list[float]) -> list[Step]:
        steps: list[Step] = []
        for (minus_rho, level_noise, trend_noise, _, _, _, _, _, _), start, end in zip(
            self.ways, before, after, strict=True
        ):
            length = end - start
            stay = math.exp(minus_rho * length)
            steps.append((stay, 1 - stay, stay * stay, level_noise * length, trend_noise * length))
        return steps


class LiveArm:
    """An arm: its losses, in groups; how large and how noisy they are; its filters, and with what they were started."""

    def __init__(self, track: Track) -> None:
        self.track = track
        self.pulls, self.before, self.last = 0, 0.0, 0.0
        self.total, self.highest = 0.0, -math.inf
        self.squares, self.older = 0.0, 0.0  # weighed squares of second differences, of this age and of the one before
        self.ends, self.skipped = 16, 2.0  # when the next age begins; twice the weights of losses before these ages
        self.sums: list[float] = []  # of each group
        self.edge = 0  # losses there are when the last group is full
        self.scale, self.noise, self.height = math.nan, math.nan, math.nan
        self.filters: list[State] = []  # after all complete groups
        self.done = 0  # how many these are
        self.seen, self.at = 0, 1.0  # losses that predictions rest on, and the pull from which they start
        self.outlook: list[Outlook] = []
        self.alone: list[float] = [0.0] * len(track.ways)  # weights of the filters, by this arm alone
        self.weights: list[float] = []

    def plain(self) -> dict[str, object]:
        """All that is known of it, as numbers and lists."""
        return {name: getattr(self, name) for name in OF_ARM}

    def revive(self, plain: dict[str, object]) -> None:
        """Be as the one that this was :meth:`plain` of."""
        for name in OF_ARM:
            setattr(self, name, plain[name])

    def add(self, losses: list[float], height: float, edges: list[int]) -> None:
        """The next losses; those above ``height`` do not count as noise."""
        for loss in losses:
            self.pulls += 1
            before, last = self.before, self.last
            if self.pulls > 2:
                if self.pulls == self.ends:
                    self._turn_age()
                if loss <= height and last <= height and before <= height:
                    bend = loss - 2 * last + before
                    self.squares += (self.pulls - 1) * bend * bend
            self.before, self.last = last, loss
            self.total += loss
            self.highest = max(self.highest, loss)
            if self.pulls > self.edge:
                self.sums.append(0.0)
                while len(edges) <= len(self.sums):
                    edges.append(edges[-1] + edges[-1] // SHARE)
                self.edge = edges[len(self.sums)]
            self.sums[-1] += loss

    def _turn_age(self) -> None:
        self.older, self.squares = self.squares, 0.0
        began = self.ends / 2  # the age before this one
        self.skipped = (began - 1) * (began - 2) if began > 8 else 2.0
        self.ends *= 2

    def mean(self) -> float:
        """Of all losses, at most four times the last ones; infinite before the first."""
        if not self.pulls:
            return math.inf
        mean, latest = self.total / self.pulls, max(self.before, self.last)
        return min(mean, FADES * latest) if latest > 0 else mean

    def own_noise(self) -> float:
        """The variance of a loss by the last second differences."""
        weights = max((self.pulls * (self.pulls - 1) - self.skipped) / 2, 1.0)
        return (self.squares + self.older) / (6 * weights)

    def has_moved(self, scale: float, noise: float, height: float) -> bool:
        """Whether its filters were started with other numbers than are true by now."""
        if not (near(scale, self.scale) and near(noise, self.noise)):
            return True
        return self.highest > min(height, self.height) and not near(height, self.height)

    def start_again(self, scale: float, noise: float, height: float, prior: list[float]) -> None:
        """Back to the prior, in units of the scale."""
        own = abs(flat(self.mean(), height))
        steep = own if own > ALOFT * scale else scale  # who is far above can fall far
        self.scale, self.noise, self.height, self.done = scale, noise, height, 0
        self.filters = []
        for (_, _, _, slope, variance, _, _, _, _), weight in zip(self.track.ways, prior, strict=True):
            level, p11, trend, p12, p22 = begin(scale, steep, slope, variance)
            self.filters.append((level, p11, trend, p12, p22, 2 * math.log(weight)))

    def run(self, edges: list[int]) -> None:
        """Feed complete groups that the filters have not seen, then what there is of the next one, on trial."""
        track, groups = self.track, len(self.sums)
        track.reach(groups, edges)
        complete = groups if self.pulls == self.edge else groups - 1
        losses: list[float] = []
        noises: list[float] = []
        for k in range(self.done, groups):
            size = (edges[k + 1] if k < complete else self.pulls) - edges[k]
            losses.append(flat(self.sums[k] / size, self.height))
            noises.append(self.noise / size)
        since, self.at = track.ends[complete - 1], (edges[complete - 1] + edges[complete] + 1) / 2
        on_trial: list[Step] = []
        if complete < groups:
            self.at = edges[complete] + (self.pulls - edges[complete] + 1) / 2
            when = track.when(self.at)
            on_trial, since = track.step(since, when), when
        self.seen = self.pulls
        self._follow(complete, losses, noises, on_trial, since)

    def _follow(
        self, complete: int, losses: list[float], noises: list[float], on_trial: list[Step], since: list[float]
    ) -> None:
        """Filters after steps to these losses; and what predictions need of them, who have come that far along log-time."""
        done, new, unit = self.done, complete - self.done, self.scale * self.scale
        least, most, best = LEAST_SIZE * unit, MOST_SIZE * unit, -math.inf
        kept: list[State] = []
        likelihoods: list[float] = []
        self.outlook = []
        for j, way in enumerate(self.track.ways):
            state, steps = self.filters[j], self.track.steps[j]
            for k in range(new):
                state = followed(state, steps[done + k], losses[k], noises[k], least, most)
            kept.append(state)
            if on_trial:
                state = followed(state, on_trial[j], losses[new], noises[new], least, most)
            self.outlook.append(looked_ahead(state, way, since[j], least, most))
            likelihoods.append(state[5])
            best = max(best, state[5])
        self.filters, self.done = kept, complete
        odds = [math.exp(0.5 * (each - best)) for each in likelihoods]
        total = added(odds)
        self.alone = [each / total for each in odds]  # weights of the filters, by this arm

    def share(self, of_all: list[float]) -> None:
        """Weigh its filters by how often their kind of curve is met among all arms."""
        weights = [each * shared for each, shared in zip(self.alone, of_all, strict=True)]
        total = added(weights)
        self.weights = [each / total for each in weights]

    def ahead(self, near: float, far: float) -> tuple[float, float, float]:
        """Mean and spread after ``far`` pulls, and how large the spread can be at any number of pulls from ``near`` on.

        That is because the mean of a filter falls along the way and its variance grows; only their disagreement may do either.
        It is at most the spread around a fixed point, and a square is largest at one of the ends.
        """
        near, far = max(near, self.at), max(far, self.at)
        mean, within = 0.0, 0.0
        ways: list[tuple[float, float, float]] = []
        for outlook, weight, offset, rate in zip(
            self.outlook, self.weights, self.track.offsets, self.track.rates, strict=True
        ):
            each, variance = foreseen(outlook, math.log(far + offset), rate)
            before, _ = foreseen(outlook, math.log(near + offset), rate)
            mean += weight * each
            within += weight * variance
            ways.append((weight, each, before))
        apart, most = within, within
        for weight, each, before in ways:
            square, other = (each - mean) * (each - mean), (before - mean) * (before - mean)
            apart += weight * square
            most += weight * (square if square > other else other)
        return mean, math.sqrt(max(apart, 0.0)), math.sqrt(max(most, 0.0))

    def straight(self, pulls: float, width: float) -> float:
        """How low it can be after ``pulls`` pulls if it goes straight there: see :meth:`FilteredCurves.straight`."""
        pulls, lowest, likeliest = max(pulls, self.at), math.inf, max(self.weights)
        for outlook, weight, offset, rate in zip(
            self.outlook, self.weights, self.track.offsets, self.track.rates, strict=True
        ):
            if rate > 0 and weight > 0:
                left = width * width + 2 * math.log(weight / likeliest)
                if left >= 0:
                    mean, variance = foreseen(outlook, math.log(pulls + offset), rate)
                    lowest = min(lowest, mean - math.sqrt(left * max(variance, 0.0)))
        return lowest


class LiveFilters:
    """All arms of a game. ``offsets``: of the filters of each arm; ``kinship``: what the prior counts for against the arms."""

    def __init__(self, ways: list[Way], prior: list[float], kinship: float, offsets: list[list[float]]) -> None:
        self.prior, self.kinship = prior, kinship
        tracks: list[Track] = []
        self.arms: list[LiveArm] = []
        for each in offsets:  # arms of one length share what they look up
            known = [track for track in tracks if track.offsets == each]
            if not known:
                known = [Track(ways, each)]
                tracks += known
            self.arms.append(LiveArm(known[0]))
        self.edges = list(range(2 * SHARE + 1))
        self.height, self.stock_at = math.inf, 0.0

    def plain(self) -> tuple[list[int], float, float, list[dict[str, object]]]:
        """What losses have made of it, as numbers and lists, for pickle and copy: compiled objects have no way with them."""
        return self.edges, self.height, self.stock_at, [arm.plain() for arm in self.arms]

    def revive(self, plain: tuple[list[int], float, float, list[dict[str, object]]]) -> None:
        """Be as the one that this was :meth:`plain` of, compiled or not, if that was made alike."""
        self.edges, self.height, self.stock_at, arms = plain
        for arm, each in zip(self.arms, arms, strict=True):
            arm.revive(each)

    def add(self, arm: int, losses: list[float]) -> None:
        """The next losses of an arm."""
        self.arms[arm].add(losses, self.height, self.edges)

    def fresh(self) -> list[int]:
        """Arms with losses that the filters have not run over."""
        return [k for k, arm in enumerate(self.arms) if arm.seen < arm.pulls]

    def due(self) -> bool:
        """Whether to take stock: losses have grown by a twentieth, or an arm has its first ones."""
        told = 0
        for arm in self.arms:
            told += arm.pulls
            if arm.pulls and not arm.seen:
                return True
        return told >= self.stock_at

    def refresh(self, stock: bool) -> list[int]:
        """Run the filters over new losses, after stock was taken, if so; the arms whose predictions have changed."""
        fresh = self.fresh()
        if stock:
            fresh = sorted({*fresh, *self._take_stock()})
        for k in fresh:
            self.arms[k].run(self.edges)
        shared: list[float] = []
        for j, prior in enumerate(self.prior):
            of_all = 0.0
            for arm in self.arms:
                of_all += arm.alone[j]
            shared.append(of_all / prior + self.kinship)
        for k in fresh:
            self.arms[k].share(shared)
        return fresh

    def _take_stock(self) -> list[int]:
        """Start filters again where scale or noise have moved: of which arms."""
        told = 0
        for arm in self.arms:
            told += arm.pulls
        self.stock_at = STOCK * told
        scale = self._scale()
        pooled, counted, square = 0.0, 0, scale * scale
        for arm in self.arms:
            extra = min(max(arm.pulls - 2, 0), OWN)
            counted += extra
            pooled += extra * arm.own_noise()
        pooled = (pooled + 0.02**2 * square) / (counted + 1)
        stale: list[int] = []
        for k, arm in enumerate(self.arms):
            extra = max(arm.pulls - 2, 0)
            noise = max((POOLED * pooled + extra * arm.own_noise()) / (POOLED + extra), 0.001**2 * square)
            if arm.pulls and arm.has_moved(scale, noise, self.height):
                arm.start_again(scale, noise, self.height, self.prior)
                stale.append(k)
        return stale

    def _scale(self) -> float:
        """The scale L of the run; and from now on, the height above which its losses are far too high."""
        means = sorted([arm.mean() for arm in self.arms if arm.pulls])
        count = len(means)
        if not count:
            return 1e-9
        lower, upper = means[(count - 1) // 2], means[count // 2]
        if lower > 0:
            upper = RUNAWAY * min(upper / RUNAWAY, lower)
        median = abs(lower + upper) / 2
        self.height = HEIGHT * median if median > 0 else math.inf
        means = [min(mean, self.height) for mean in means]  # a runaway is not to set the scale
        middle = added(means) / count
        spread = math.sqrt(added([(mean - middle) * (mean - middle) for mean in means]) / count)
        scale = min(median, max(8 * spread, median / 10)) if count > 1 else median
        return max(scale, 1e-3 * max(abs(means[0]), abs(means[-1])), 1e-9)


def added(values: list[float]) -> float:
    """Their sum, one after the other: from Python 3.12 on, that of Python differs in the last digit."""
    total = 0.0
    for each in values:
        total += each
    return total


def clipped(value: float, least: float, most: float) -> float:
    """The nearest number within these two."""
    return least if value < least else most if value > most else value


def flat(loss: float, height: float) -> float:
    """``h (1 + log(y / h))`` in the place of a loss y above h."""
    return height * (1 + math.log(loss / height)) if loss > height else loss


def near(now: float, before: float) -> bool:
    """Whether a number is within a quarter of what it was; none is near to NaN."""
    return max(now / before, before / now) <= STALE
