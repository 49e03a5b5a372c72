"""Round robin over the active arms with a decision after every round: the frame of both algorithms of the paper."""

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from restsure import checks
from restsure.bounds import Bound, Claim, Empirical, Theorem2
from restsure.description import settle
from restsure.estimators import Cells, Design, Estimator, LeastSquares, Residuals, TwoWindow
from restsure.policies.lines import Commit, line_4_commit
from restsure.policies.play import Play
from restsure.policies.policy import Policy
from restsure.problem import Decision, reach

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class RoundsPolicy(Policy):
    """Parameters of both algorithms.

    ``rho``: the known exponent. ``estimator``, ``bound``: how curves are fitted and how sure that is; the defaults, least
    squares and its empirical width, decide at real budgets, :meth:`as_published` does not. ``delta``: level; 1/T if None.
    """

    rho: float = 0.5
    _: KW_ONLY
    estimator: Estimator = LeastSquares()
    bound: Bound = Empirical()
    delta: float | None = None

    def __post_init__(self) -> None:
        settle(self, rho=checks.real("rho", self.rho, above=0, at_most=1))
        checks.instance("estimator", self.estimator, Estimator)
        checks.instance("bound", self.bound, Bound)
        if self.delta is not None:
            settle(self, delta=checks.real("delta", self.delta, above=0, below=1))
        self.bound.check(self.estimator, self.rho)

    @classmethod
    def as_published(cls, rho: float = 0.5, alpha_max: float = 1.0) -> Self:
        """The paper's own: two windows, the radius of Theorem 2, ``delta = 1/T``.

        With these constants nothing is eliminated at a practical budget, and the game is round robin.
        """
        return cls(rho, estimator=TwoWindow(), bound=Theorem2(alpha_max))

    def losses_kept(self, n_arms: int, horizon: int) -> int:
        return horizon if isinstance(self.estimator, TwoWindow) else n_arms

    def claim(self, n_arms: int, horizon: int) -> Claim:
        """``delta = 1/T`` unless it was given; at T = 1, where that would be no confidence at all, 1/2."""
        return Claim(n_arms, horizon, self.delta or 1 / max(horizon, 2))


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known after a full round of the runs ``rows``, before the next decision.

    ``n`` pulls of every active arm; ``alpha``, ``beta`` the fitted lines with ``beta`` infinite for inactive arms; ``reach``
    is ``tau_out = n + T - t``, ``size`` the number of active arms.
    """

    rows: Rows
    n: int
    alpha: Floats
    beta: Floats
    active: NDArray[np.bool_]
    size: NDArray[np.int64]
    spent: NDArray[np.int64]
    reach: NDArray[np.int64]
    design: Design
    residuals: Residuals | None

    def losses(self, x: Any) -> Floats:
        """``mu^_i`` of every arm at ``x = m**-rho``, one x for each run or one for all."""
        return np.asarray(self.alpha * np.asarray(x)[..., None] + self.beta)

    def residuals_of(self, k: int) -> Residuals | None:
        if self.residuals is None:
            return None
        return Residuals(self.residuals.variance[k], self.residuals.freedom[k])


@dataclass(frozen=True, slots=True)
class Ahead:
    """What line 4 looked at, for the lines that follow: ``tau_out**-rho``, the losses there, the gap, the verdict."""

    x: Floats
    losses: Floats
    gap: Any
    verdict: Commit


class RoundsPlay(Play, ABC):
    """Explore in rounds until a rule chooses an arm, then give it all that is left."""

    def __init__(self, policy: RoundsPolicy, n_arms: int, horizon: int, runs: int, *, log: bool):
        super().__init__(n_arms, horizon, runs, log=log)
        self.policy, self.rho = policy, policy.rho
        self.claim = policy.claim(n_arms, horizon)
        self.bound = policy.bound
        self.curves = policy.estimator.start(
            policy.rho, runs * n_arms, track_noise=policy.bound.needs_residuals, expected=horizon // n_arms
        )
        self.rounds = 0
        self.alike = True  # no run has dropped, chosen or lost an arm yet: all arms of all runs stand at the same pulls

    @abstractmethod
    def judge(self, standing: Standing) -> None:
        """Apply the algorithm's rules after a round: ``commit`` or ``drop``."""

    def learn(self, cells: Cells, losses: Floats) -> None:
        self.curves.update(cells, losses)

    def decide(self, rows: Rows) -> None:
        if self.alike and self.horizon - self.rounds * self.n_arms >= self.n_arms and self._all_go_on():
            self.all_want = 1
            self.rounds += 1
            return
        exploring = rows[self.choice[rows] < 0]
        bereft = ~self.active[exploring].any(axis=1)
        if bereft.any():
            self._choose_best(exploring[bereft], "best of all others: every active arm failed")
            exploring = exploring[~bereft]
        if exploring.size:
            if self.rounds >= 2:  # with fewer losses nothing is known: the radius is infinite and no rule fires
                self.judge(self._standing(exploring))
            self._next_round(exploring[self.choice[exploring] < 0])
        self._play_out(rows[self.choice[rows] >= 0])

    def _all_go_on(self) -> bool:
        """A cheap look at all runs together: can it be excluded that a rule fires in any of them?

        Lines 4 and 11 need two arms further apart at ``tau_out`` than the gap there. Line 7 needs the best arm there to lose
        more than the width in one round, and along a line it loses the share ``(x' - x)/(x_n - x)`` of what it loses from n on.
        """
        n = self.rounds
        if n < 2:
            return True
        if self.bound.needs_residuals:
            return False
        furthest = reach(n, n * self.n_arms, self.horizon)
        after_round = furthest - self.n_arms + 1
        if after_round < 1 or self.n_arms == 1:
            return False
        x_now, x_out, x_after = (float(m) ** -self.rho for m in (n, furthest, after_round))
        design = self.curves.design(0)
        at_reach = self.curves.losses_at(x_out)
        lowest = float(at_reach.min())
        if not float(at_reach.max()) - lowest <= self.bound.gap(design, x_out, self.claim):
            return False
        width = self.bound.radius(design, x_after, self.claim) + self.bound.radius(design, x_out, self.claim)
        share = (x_after - x_out) / (x_now - x_out) if x_now > x_out else 1.0
        return bool(share * (float(self.curves.losses_at(x_now).max()) - lowest) <= width)

    def _next_round(self, rows: Rows) -> None:
        """Pull each active arm once, where the budget has room for a whole round; else choose now."""
        active = self.active[rows]
        size = active.sum(axis=1)
        fits = self.horizon - self.spent(rows) >= size
        self.wanted[rows[fits]] = active[fits]
        self.rounds += bool(fits.any())
        if not fits.all():
            self._choose_best(rows[~fits], "budget: no room for another round")

    def _play_out(self, rows: Rows) -> None:
        """Alg. 1 line 9, Alg. 2 line 17: play the chosen arm until round T."""
        left = self.horizon - self.spent(rows)
        self.wanted[rows, self.choice[rows]] = left
        self.done[rows] = left == 0

    def _standing(self, rows: Rows) -> Standing:
        pick, cells = self.pick(rows), self.cells_of(rows)
        alpha, beta = (part.reshape(-1, self.n_arms) for part in self.curves.coefficients(cells))
        active = self.active[pick]
        size, spent = active.sum(axis=1), self.spent(pick)
        probe = int(rows[0]) * self.n_arms + int(active[0].argmax())  # all active arms have had the same pulls
        residuals = None
        if self.bound.needs_residuals:
            squares = np.where(active, self.curves.squares(cells).reshape(-1, self.n_arms), 0.0).sum(axis=1)
            freedom = size * max(self.rounds - 2, 0)
            residuals = Residuals(squares / np.maximum(freedom, 1), freedom)
        return Standing(
            rows=rows,
            n=self.rounds,
            alpha=alpha,
            beta=np.where(active, beta, np.inf),
            active=active,
            size=size,
            spent=spent,
            reach=reach(self.rounds, spent, self.horizon),
            design=self.curves.design(probe),
            residuals=residuals,
        )

    def commit_where_ahead(self, standing: Standing, rule: str) -> Ahead:
        """Line 4 of both algorithms: choose the arm that leads at ``tau_out`` by more than the gap."""
        x = standing.reach.astype(np.float64) ** -self.rho
        losses = standing.losses(x)
        gap = self.bound.gap(standing.design, x, self.claim, standing.residuals)
        verdict = line_4_commit(losses, gap)
        gaps = np.broadcast_to(gap, verdict.lead.shape)
        for k in np.flatnonzero(verdict.fires).tolist():
            rival = int(verdict.rival[k]) if standing.size[k] > 1 else None
            self.commit(
                int(standing.rows[k]),
                int(verdict.arm[k]),
                rule,
                rival,
                loss=float(verdict.loss[k]),
                lead=float(verdict.lead[k]),
                needed=float(gaps[k]),
                reach=float(standing.reach[k]),
            )
        return Ahead(x, losses, gap, verdict)

    def commit(self, run: int, arm: int, rule: str, rival: int | None = None, **numbers: float) -> None:
        self.choice[run] = arm
        self.alike = False
        self._note(run, rule, arm, rival, numbers)

    def drop(self, run: int, arm: int, rule: str, rival: int, **numbers: float) -> None:
        self.active[run, arm] = False
        self.alike = False
        self._note(run, rule, arm, rival, numbers)

    def _note(self, run: int, rule: str, arm: int, rival: int | None, numbers: dict[str, float]) -> None:
        if self.log is not None:
            self.log.append(Decision(int(self.spent()[run]), rule, arm, rival, numbers))

    def _choose_best(self, rows: Rows, rule: str) -> None:
        """``argmin mu^_i(tau_out)`` over the active arms; over all that have not failed, when no active arm is left."""
        allowed = np.where(self.active[rows].any(axis=1, keepdims=True), self.active[rows], ~self.failed[rows])
        lost = ~allowed.any(axis=1)
        self.done[rows[lost]] = True
        rows, allowed = rows[~lost], allowed[~lost]
        pulls = self.pulls[rows]
        alpha, beta = (part.reshape(pulls.shape) for part in self.curves.coefficients(self.cells_of(rows)))
        reaches = reach(pulls, self.spent(rows)[:, None], self.horizon)
        at_reach = alpha * np.maximum(reaches, 1.0) ** -self.rho + beta
        losses = np.where(pulls > 0, at_reach, 1e300)
        arms = np.where(allowed, losses, np.inf).argmin(axis=1)
        for row, arm, k in zip(rows.tolist(), arms.tolist(), range(len(rows)), strict=True):
            self.commit(row, arm, rule, loss=float(losses[k, arm]), reach=float(reaches[k, arm]))

    def fail(self, run: int, arm: int) -> None:
        self.failed[run, arm], self.active[run, arm], self.wanted[run, arm] = True, False, 0
        self.alike = False
        if self.choice[run] == arm:
            self.choice[run], self.done[run] = -1, False
            self._choose_best(np.array([run]), "best of the others: the chosen arm failed")
        elif self.failed[run].all():
            self.done[run] = True

    def leader(self, run: int) -> int:
        arms = np.flatnonzero(~self.failed[run] & (self.pulls[run] > 0))
        alpha, beta = self.curves.coefficients(run * self.n_arms + arms)
        now = alpha * self.pulls[run, arms].astype(np.float64) ** -self.rho + beta
        return int(arms[now.argmin()])

    def interval(self, run: int, arm: int) -> tuple[float, float, float, str]:
        cell, pulls = run * self.n_arms + arm, int(self.pulls[run, arm])
        alpha, beta = self.curves.coefficients(np.array([cell]))
        x = float(pulls) ** -self.rho
        loss = float(alpha[0] * x + beta[0])
        residuals = None
        if self.bound.needs_residuals:
            freedom = max(pulls - 2, 0)
            residuals = Residuals(float(self.curves.squares(np.array([cell]))[0]) / max(freedom, 1), freedom)
        radius = float(self.bound.radius(self.curves.design(cell), x, self.claim, residuals)) if pulls > 1 else np.inf
        certified = "not certified: noise estimated" if self.bound.needs_residuals else "if the curve is a power law"
        return loss, loss - radius, loss + radius, f"interval at level {1 - self.claim.delta:g}, {certified}"
