"""The learning curves of one live game, in plain numbers.

Arrays pay off where many arms have new losses at a time. In a live game one has, and a handful of numbers is reckoned with
sooner one by one: here is for one game what :class:`Roughness`, :class:`ThinnedLosses` and :class:`LogTrendStates`, whose
docstrings have the mathematics, are for many. The four formulas at the top serve both: interpreted, they take arrays too.

Nothing is imported here but functions of numbers and constants, so that mypyc can compile it (``hatch_build.py``). Between two
decisions a model is trained, and then nothing of this is in the processor's caches any more: what takes time is to fetch it.
So whatever belongs together is one object with plain numbers in it, those first that are looked at together, and nothing is
looked at without need.
"""

import math
from bisect import bisect_right
from typing import Final

from restsure.estimators.filters import ALOFT, LEAST_SIZE, LEVEL_SD, MOST_SIZE, STALE
from restsure.estimators.misfit import FEWEST, SURE, WORTH
from restsure.estimators.roughness import FADES, HEIGHT, NOTHING, OWN, POOLED, RUNAWAY, STOCK
from restsure.estimators.thinned import SHARE

EPOCH: Final = 0.5  # share of what was left down to which the bound of an index holds: farther down it is looser
AT_FLOOR: Final = 2.0**32  # more than anyone pulls: indices at the floor are their arms' pulls, less this

Step = tuple[float, float, float, float, float]
"""What a step ``du`` of log-time does to a filter: the share ``f = exp(-rho du)`` of the trend that stays, ``1 - f``,
``f * f``, and the process noise of the level and of the trend, as shares of the squared size."""

Way = tuple[float, float, float, float, float, float, float, float, float]
"""What is a filter's own: ``-rho``, process noise of level and trend, prior mean and variance of the trend, DRIFT and CURB of
its predictions in units of the size, and the least and the most that the trend counts for there."""

Outlook = tuple[float, float, float, float, float, float, float, float, float]
"""What predictions need of a filter: START, SPREAD, SINCE, FALL, DRIFT, LESS, MORE, BOTTOM, WEIGHT (filters.py)."""


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


def at_floor(index: float, pulls: float, highest: float) -> float:
    """What an index that is not above the floor counts for, where no loss is below it and the highest is so far above.

    An index of -.2 promises no more than one of -.1 there: of the arms that could be at the floor the least pulled one comes
    first, and of those the one that could be furthest below.
    """
    return pulls - AT_FLOOR + 1 / (1 - index / highest)


class Kind:
    """A row of FILTERS: a way that a curve may go on, and what that counts for before there are losses."""

    def __init__(self, way: Way, weight: float) -> None:
        self.rate, self.level_noise, self.trend_noise, self.slope, self.slope_variance = way[:5]
        self.drift, self.curb, self.low, self.high = way[5:]
        self.weight = weight

    def step(self, length: float) -> Step:
        """So far along log-time."""
        stay = math.exp(self.rate * length)
        return stay, 1 - stay, stay * stay, self.level_noise * length, self.trend_noise * length


class Landing:
    """A step along log-time, and where it ends there."""

    def __init__(self, step: Step, end: float) -> None:
        self.stays, self.dies, self.square, self.moves_level, self.moves_trend = step
        self.end = end


class Track:
    """Groups of losses along log-time, for arms of one length, whose filters have the same offsets."""

    def __init__(self, kinds: list[Kind], offsets: list[float]) -> None:
        self.kinds, self.offsets = kinds, offsets
        self.landings: list[list[Landing]] = []  # of the filters at each group, from the one before it

    def reach(self, groups: int, edges: list[int]) -> None:
        """Look up the steps to so many groups at least."""
        while len(self.landings) < groups:
            k = len(self.landings)
            middle, fresh = (edges[k] + edges[k + 1] + 1) / 2, list[Landing]()
            for j in range(len(self.kinds)):
                end = math.log(middle + self.offsets[j])
                length = end - self.landings[k - 1][j].end if k else 0.0
                fresh.append(Landing(self.kinds[j].step(length), end))
            self.landings.append(fresh)


OF_FILTER = (
    *("level", "p11", "trend", "p12", "p22", "likelihood", "end"),
    *("start", "spread", "since", "fall", "drifts", "less", "more", "bottom", "found", "alone", "weight"),
)
"""What losses change in a filter of an arm."""


class LiveFilter:
    """A filter of an arm, after all complete groups of losses.

    And what it predicts from there, or from what there is of the next group; how likely it is, by this arm alone and among all.
    """

    def __init__(self, kind: Kind, offset: float) -> None:
        self.rate, self.offset, self.weight = kind.rate, offset, 0.0
        self.start, self.spread, self.since, self.fall = 0.0, 0.0, 0.0, 0.0
        self.drifts, self.less, self.more, self.bottom = 0.0, 0.0, 0.0, 0.0
        self.kind, self.found, self.alone = kind, 0.0, 0.0
        self.level, self.p11, self.trend, self.p12, self.p22 = 0.0, 0.0, 0.0, 0.0, 0.0
        self.likelihood, self.end = 0.0, 0.0  # twice the log of weight and likelihood; where it is along log-time

    def plain(self) -> list[float]:
        return [float(getattr(self, name)) for name in OF_FILTER]

    def revive(self, plain: list[float]) -> None:
        for k in range(len(OF_FILTER)):
            setattr(self, OF_FILTER[k], plain[k])

    def begin(self, scale: float, steep: float) -> None:
        """Back to the prior."""
        kind = self.kind
        self.level, self.p11, self.trend, self.p12, self.p22 = begin(scale, steep, kind.slope, kind.slope_variance)
        self.likelihood = 2 * math.log(kind.weight)

    def follow(self, landing: Landing, loss: float, noise: float, least: float, most: float) -> None:
        """A step to a loss of that variance; process noise is a share of a size within these limits, squared."""
        step = landing.stays, landing.dies, landing.square, landing.moves_level, landing.moves_trend
        size = clipped(self.level * self.level, least, most)
        self.level, self.p11, self.trend, self.p12, self.p22, error, variance = advance(
            self.level, self.p11, self.trend, self.p12, self.p22, size, step, loss, noise
        )
        self.likelihood -= math.log(variance) + error * error / variance
        self.end = landing.end

    def look(self, at: float, loss: float, noise: float, least: float, most: float) -> None:
        """Predict from that pull on, where there is a loss of that variance; of infinite variance, where there is none yet."""
        kind, level, p11, trend, p12, p22 = self.kind, self.level, self.p11, self.trend, self.p12, self.p22
        self.found, self.since = self.likelihood, self.end
        if noise < math.inf:
            self.since = math.log(at + self.offset)
            size, step = clipped(level * level, least, most), kind.step(self.since - self.end)
            level, p11, trend, p12, p22, error, variance = advance(level, p11, trend, p12, p22, size, step, loss, noise)
            self.found -= math.log(variance) + error * error / variance
        size = clipped(level * level, least, most)
        self.drifts, self.less, self.more = wander(size, p12, p22, kind.drift, kind.curb)
        self.start, self.spread, self.fall = level, p11, clipped(trend, kind.low, kind.high)
        self.bottom = 0.0 if level >= 0 else -math.inf

    def outlook(self) -> Outlook:
        less, more, bottom, weight = self.less, self.more, self.bottom, self.weight
        return self.start, self.spread, self.since, self.fall, self.drifts, less, more, bottom, weight

    def foreseen(self, pulls: float) -> tuple[float, float]:
        """Mean and variance after so many pulls."""
        time = math.log(pulls + self.offset) - self.since
        h = 1 - math.exp(self.rate * time)
        mean, variance = self.start - self.fall * h, self.spread + self.drifts * time - h * (self.less - self.more * h)
        return mean if mean > self.bottom else self.bottom, variance


OF_ARM = (
    *("pulls", "before", "last", "total", "highest", "squares", "older", "ends", "skipped", "sums", "edge"),
    *("scale", "noise", "height", "done", "seen", "at", "bound"),
)
"""What losses change in an arm, beside its filters."""


class LiveArm:
    """An arm: its losses, in groups; how large and how noisy they are; its filters, and with what they were started."""

    def __init__(self, track: Track) -> None:
        self.pulls = 0
        self.seen, self.at = 0, 1.0  # losses that predictions rest on, and the pull from which they start
        self.bound = -math.inf  # of its index from below
        self.scanned = False  # whether it was computed again in the scan that is going on
        self.filters = [LiveFilter(track.kinds[j], track.offsets[j]) for j in range(len(track.kinds))]
        self.done = 0  # complete groups that these have run over
        self.track = track
        self.before, self.last = 0.0, 0.0
        self.total, self.highest = 0.0, -math.inf
        self.squares, self.older = 0.0, 0.0  # weighed squares of second differences, of this age and of the one before
        self.ends, self.skipped = 16, 2.0  # when the next age begins; twice the weights of losses before these ages
        self.sums: list[float] = []  # of each group
        self.edge = 0  # losses there are when the last group is full
        self.scale, self.noise, self.height = math.nan, math.nan, math.nan

    def plain(self) -> dict[str, object]:
        """All that is known of it, as numbers and lists."""
        plain: dict[str, object] = {name: getattr(self, name) for name in OF_ARM}
        plain["filters"] = [each.plain() for each in self.filters]
        return plain

    def revive(self, plain: dict[str, object]) -> None:
        """Be as the one that this was :meth:`plain` of."""
        for name in OF_ARM:
            setattr(self, name, plain[name])
        filters = plain["filters"]
        assert isinstance(filters, list)
        for k in range(len(filters)):
            self.filters[k].revive(filters[k])

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

    def start_again(self, scale: float, noise: float, height: float) -> None:
        """Back to the prior, in units of the scale."""
        own = abs(flat(self.mean(), height))
        steep = own if own > ALOFT * scale else scale  # who is far above can fall far
        self.scale, self.noise, self.height, self.done = scale, noise, height, 0
        for each in self.filters:
            each.begin(scale, steep)

    def run(self, edges: list[int], of_all: list[float]) -> None:
        """Feed complete groups that the filters have not seen, then what there is of the next one, on trial.

        ``of_all``: the weights of the filters by each arm alone, added up over the arms.
        """
        filters, groups, unit = self.filters, len(self.sums), self.scale * self.scale
        least, most = LEAST_SIZE * unit, MOST_SIZE * unit
        self.track.reach(groups, edges)
        complete = groups if self.pulls == self.edge else groups - 1
        for k in range(self.done, complete):
            landings, size = self.track.landings[k], edges[k + 1] - edges[k]
            loss, noise = flat(self.sums[k] / size, self.height), self.noise / size
            for j in range(len(filters)):
                filters[j].follow(landings[j], loss, noise, least, most)
        self.done, self.seen, self.bound = complete, self.pulls, -math.inf
        loss, noise, size = 0.0, math.inf, self.pulls - edges[complete]
        if size:
            loss, noise = flat(self.sums[complete] / size, self.height), self.noise / size
            self.at = edges[complete] + (size + 1) / 2
        else:
            self.at = (edges[complete - 1] + edges[complete] + 1) / 2
        best, total = -math.inf, 0.0
        for each in filters:
            each.look(self.at, loss, noise, least, most)
            best = max(best, each.found)
        for each in filters:
            each.found = math.exp(0.5 * (each.found - best))
            total += each.found
        for j in range(len(filters)):
            each = filters[j]
            alone = each.found / total
            of_all[j] += alone - each.alone
            each.alone = alone

    def share(self, kinship: float, of_all: list[float]) -> None:
        """Weigh its filters by how often their kind of curve is met among all arms."""
        total = 0.0
        for j in range(len(self.filters)):
            each = self.filters[j]
            each.weight = each.alone * (of_all[j] / each.kind.weight + kinship)
            total += each.weight
        for each in self.filters:
            each.weight /= total

    def ahead(self, near: float, far: float) -> tuple[float, float, float]:
        """Mean and spread after ``far`` pulls, and how large the spread can be at any number of pulls from ``near`` on.

        That is because the mean of a filter falls along the way and its variance grows; only their disagreement may do either.
        It is at most the spread around a fixed point, and a square is largest at one of the ends.
        """
        near, far = max(near, self.at), max(far, self.at)
        mean, within = 0.0, 0.0
        means: list[float] = []
        for each in self.filters:
            there, variance = each.foreseen(far)
            mean += each.weight * there
            within += each.weight * variance
            means.append(there)
        apart, most = within, within
        for j in range(len(means)):
            each = self.filters[j]
            there, before = means[j] - mean, each.foreseen(near)[0] - mean
            square, other = there * there, before * before
            apart += each.weight * square
            most += each.weight * (square if square > other else other)
        return mean, math.sqrt(max(apart, 0.0)), math.sqrt(max(most, 0.0))

    def straight(self, pulls: float, width: float) -> float:
        """How low it can be after ``pulls`` pulls if it goes straight there: see :meth:`FilteredCurves.straight`."""
        pulls, lowest, likeliest = max(pulls, self.at), math.inf, max([each.weight for each in self.filters])
        for each in self.filters:
            if each.rate > 0 and each.weight > 0:
                left = width * width + 2 * math.log(each.weight / likeliest)
                if left >= 0:
                    mean, variance = each.foreseen(pulls)
                    lowest = min(lowest, mean - math.sqrt(left * max(variance, 0.0)))
        return lowest

    def windows(self, edges: list[int]) -> tuple[list[float], list[float]]:
        """How many losses there are before each quarter of its pulls and in all, and what they come to."""
        counts: list[float] = []
        totals: list[float] = []
        done, total = 0, 0.0
        for quarters in (4, 3, 2, 1):
            end = bisect_right(edges, self.pulls - quarters * (self.pulls // 4)) - 1
            for group in range(done, end):
                total += self.sums[group]
            done = end
            counts.append(float(edges[end]))
            totals.append(total)
        for group in range(done, len(self.sums)):
            total += self.sums[group]
        counts.append(float(self.pulls))
        totals.append(total)
        return counts, totals

    def may_bend(self, edges: list[int]) -> bool:
        """Whether its losses rise, or fall faster, by enough to matter; where not, ``misfit.bends`` finds nothing either."""
        counts, totals = self.windows(edges)
        means: list[float] = []
        size = 1.0
        for k in range(1, 5):
            size = max(counts[k] - counts[k - 1], 1.0)
            means.append((totals[k] - totals[k - 1]) / size)
        first, second, third = means[1], means[2], means[3]
        by = max(third - min(first, second), second - third - max(first - second, 0.0))
        return by > WORTH * abs(second) and by > SURE * math.sqrt(self.noise / size)


class LiveFilters:
    """All arms of a game. ``offsets``: of the filters of each arm; ``kinship``: what the prior counts for against the arms."""

    def __init__(self, ways: list[Way], prior: list[float], kinship: float, offsets: list[list[float]]) -> None:
        kinds = [Kind(ways[j], prior[j]) for j in range(len(ways))]
        self.kinship, self.of_all = kinship, [0.0] * len(kinds)
        tracks: list[Track] = []
        self.arms: list[LiveArm] = []
        for each in offsets:  # arms of one length share what they look up
            known = [track for track in tracks if track.offsets == each]
            if not known:
                known = [Track(kinds, each)]
                tracks += known
            self.arms.append(LiveArm(known[0]))
        self.edges = list(range(2 * SHARE + 1))
        self.told, self.height, self.stock_at = 0, math.inf, 0.0
        self.fresh: list[int] = []  # arms with losses that the filters have not run over
        self.began = math.inf  # what was left of the budget when the bounds of indices were begun

    def plain(self) -> tuple[list[int], list[float], int, float, float, float, list[dict[str, object]]]:
        """What losses have made of it, as numbers and lists, for pickle and copy: compiled objects have no way with them."""
        arms = [arm.plain() for arm in self.arms]
        return self.edges, self.of_all, self.told, self.height, self.stock_at, self.began, arms

    def revive(self, plain: tuple[list[int], list[float], int, float, float, float, list[dict[str, object]]]) -> None:
        """Be as the one that this was :meth:`plain` of, compiled or not, if that was made alike."""
        self.edges, self.of_all, self.told, self.height, self.stock_at, self.began, arms = plain
        for k in range(len(arms)):
            self.arms[k].revive(arms[k])
        self.fresh = [k for k, arm in enumerate(self.arms) if arm.seen < arm.pulls]

    def add(self, arm: int, losses: list[float]) -> None:
        """The next losses of an arm."""
        self.told += len(losses)
        if arm not in self.fresh:
            self.fresh.append(arm)
        self.arms[arm].add(losses, self.height, self.edges)

    def due(self) -> bool:
        """Whether to take stock: losses have grown by a twentieth, or an arm has its first ones."""
        if self.told >= self.stock_at:
            return True
        return any(not self.arms[k].seen for k in self.fresh)

    def grown(self) -> list[int]:
        """Arms with new losses that have enough of them to tell whether they bend."""
        return sorted([k for k in self.fresh if self.arms[k].pulls >= FEWEST])

    def suspects(self, arms: list[int]) -> bool:
        """Whether any of these may bend."""
        return any(self.arms[k].may_bend(self.edges) for k in arms)

    def refresh(self, stock: bool) -> list[int]:
        """Run the filters over new losses, after stock was taken, if so; the arms whose predictions have changed."""
        fresh, self.fresh = self.fresh, []
        if stock:
            fresh += self._take_stock()
        fresh = sorted({*fresh})
        for k in fresh:
            self.arms[k].run(self.edges, self.of_all)
        for k in fresh:
            self.arms[k].share(self.kinship, self.of_all)
        return fresh

    def lowest(self, share: float, left: float, patience: float, straight: bool, highest: float) -> int:
        """The arm with the lowest index, at ``share`` of what is left; -1 where no index is a number.

        ``straight``: where arms may hope for lines; ``highest``: of all losses, or zero where some are below the floor. The
        index is that of :class:`HorizonLCBPlay`. An arm that was not pulled since its index was computed can reach less now
        than it could then, and is computed again only if its lower bound is below the best index found.
        """
        if left < EPOCH * self.began:
            self.began = left
            for arm in self.arms:
                arm.bound = -math.inf
        for arm in self.arms:
            arm.scanned = False
        shrinks, best, lowest, count = EPOCH * self.began / left, -1, math.inf, len(self.arms)
        while True:
            k, bound = -1, lowest
            for i in range(count):
                arm = self.arms[i]
                if not arm.scanned and (arm.bound < bound or (k < 0 and arm.bound == bound)):
                    k, bound = i, arm.bound
            if k < 0:
                return best
            arm = self.arms[k]
            n = arm.pulls
            mean, sd, most = arm.ahead(n + shrinks * (share * left), n + share * left)
            width = patience * math.sqrt(2 * math.log1p(left / (count * n)))
            index, bound = mean - width * sd, mean - width * most
            if straight:
                line = arm.straight(n + share * left, width)  # lower than at any reach from now on
                index, bound = min(index, line), min(bound, line)
            if highest > 0:
                index = at_floor(index, n, highest) if index <= 0 else index
                bound = at_floor(bound, n, highest) if bound <= 0 else bound
            arm.bound, arm.scanned = bound - 1e-12 * abs(bound), True
            if index < lowest or (index == lowest and k < best):
                best, lowest = k, index

    def _take_stock(self) -> list[int]:
        """Start filters again where scale or noise have moved: of which arms."""
        self.stock_at = STOCK * self.told
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
                arm.start_again(scale, noise, self.height)
                stale.append(k)
        return stale

    def _scale(self) -> float:
        """The scale L of the run; and from now on, the height above which its losses are far too high."""
        means = sorted([arm.mean() for arm in self.arms if arm.pulls])
        count = len(means)
        if not count:
            return NOTHING
        lower, upper = means[(count - 1) // 2], means[count // 2]
        if lower > 0:
            upper = RUNAWAY * min(upper / RUNAWAY, lower)
        median = abs(lower + upper) / 2
        self.height = HEIGHT * median if median > 0 else math.inf
        means = [min(mean, self.height) for mean in means]  # a runaway is not to set the scale
        middle = added(means) / count
        spread = math.sqrt(added([(mean - middle) * (mean - middle) for mean in means]) / count)
        scale = min(median, max(8 * spread, median / 10)) if count > 1 else median
        return max(scale, 1e-3 * max(abs(means[0]), abs(means[-1])), NOTHING)


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
