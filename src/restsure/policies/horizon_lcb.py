"""Optimism at the reach: the policy this package is about."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from restsure import checks
from restsure.bounds import Claim, SelfNormalized
from restsure.description import settle
from restsure.errors import InvalidParameter
from restsure.estimators import CurveModel, CurveStates, LogTrend, PowerLaw
from restsure.policies.budget import Budget, MeasuredBudget
from restsure.policies.certified import CertifiedStates
from restsure.policies.game import Game
from restsure.policies.horizon_play import HorizonLCBPlay
from restsure.policies.live_horizon import LiveHorizonPlay
from restsure.policies.peer import Floats
from restsure.policies.policy import Policy

KNEE = 8.0  # the reference is played as its logarithm begins to tell: losses below an eighth of it as they are


@dataclass(frozen=True)
class HorizonLCB(Policy):
    """Pull the arm with the lowest optimistic loss at the furthest state it can still reach.

    With ``M_i``, ``S_i`` the mean and standard deviation that ``curve`` predicts at ``m_i = n_i + min(1, 3/K) (T - t)``, the
    index is

        I_i = M_i - patience * sqrt(2 log(1 + (T - t) / (K n_i))) * S_i

    The arm with the lowest index gets ``ceil(n_i / 20)`` pulls, the least pulled one of those whose index is below the
    floor of the losses; every pull given to another arm shortens the reach, so that waiting is punished and commitment
    happens by itself. Among more than three arms no one can hope to get all that is left, and is judged by what it can hope
    for; up to three may each hope to go straight there, and have the index of a straight line, if that is lower
    (:meth:`~restsure.estimators.filters.FilteredCurves.straight`). The pulls that the curve needs to say anything come first
    (one of each arm if that is more than half of the budget). In the end the lowest estimated loss at the pulls that were
    made is returned.

    With ``costs`` of a pull and a budget B in that unit, ``T - t`` is ``(B - spent) / cost_i``; ``m_i`` is ``max_pulls`` at the
    most, and an arm that is finished is judged by its level. Pulls that are out (``ask(workers=...)``) are counted as spent
    and as telling nothing yet; another arm is trained beside them if it would be next anyway, should their losses come as
    predicted. ``speculative``: also while it could end lower than those in training are predicted to end, so that fewer
    workers are idle and the budget is spent sooner, at the price of more regret (docs/distributed.md).

    ``curve``: how learning curves look: :class:`~restsure.LogTrend`, :class:`~restsure.CurveBank`, or
    :class:`~restsure.PowerLaw` when the exponent is known. ``floor``: a known lower bound of the losses, from which they are
    measured. ``reference``: the loss of someone who has learnt nothing, if losses have no upper end (regression): with ``u =
    (reference - floor) / 8`` they are played as ``u log(1 + (y - floor) / u)``, so that those far above it differ by orders of
    magnitude only. ``patience`` widens or narrows the bonus.

    A curve that no curve model follows, because it rises or falls faster and faster (:mod:`restsure.estimators.misfit`), is
    not given up by extrapolation: its index is at most what it may hope for, where it was or a straight line.

    The interval it reports is an estimate and not certified, unless ``certified=True``: then the index is ``M_i - patience *
    radius_i``, with the radius of :class:`~restsure.bounds.SelfNormalized` for the known exponent and noise of a
    ``PowerLaw(rho, sigma)``, which holds for all arms, all states and all times at once with probability ``1 - delta`` (1/T
    if None), whatever is pulled.
    """

    curve: CurveModel = LogTrend()
    _: KW_ONLY
    patience: float = 1.0
    floor: float = 0.0
    reference: float | None = None
    certified: bool = False
    delta: float | None = None
    speculative: bool = False

    def __post_init__(self) -> None:
        checks.instance("curve", self.curve, CurveModel)
        checks.instance("certified", self.certified, bool)
        checks.instance("speculative", self.speculative, bool)
        settle(
            self,
            patience=checks.real("patience", self.patience, at_least=0),
            floor=checks.real("floor", self.floor),
        )
        if self.reference is not None:
            settle(self, reference=checks.real("reference", self.reference, above=self.floor))
            if self.certified:
                raise InvalidParameter(
                    f"reference={self.reference!r}: must be None when certified, the law holds for losses"
                )
        if self.certified and not (isinstance(self.curve, PowerLaw) and self.curve.sigma is not None):
            raise InvalidParameter(
                f"curve={self.curve!r}: must be a PowerLaw with a known sigma when certified, nothing else has a radius"
            )
        if self.delta is not None:
            if not self.certified:
                raise InvalidParameter(f"delta={self.delta!r}: must be None unless certified=True")
            settle(self, delta=checks.real("delta", self.delta, above=0, below=1))

    def losses_kept(self, n_arms: int, horizon: int) -> int:
        return n_arms * self.curve.numbers_kept(horizon)

    @property
    def knee(self) -> float:
        """``u``, above which logarithms begin to tell; infinite without a reference."""
        return math.inf if self.reference is None else (self.reference - self.floor) / KNEE

    @property
    def shifts(self) -> bool:
        """Whether losses are played as other numbers than they are."""
        return self.floor != 0 or self.reference is not None

    def played(self, losses: Floats) -> Floats:
        """What the curves are told of losses: their distance from the floor, in logarithms where it is large."""
        if not self.shifts:
            return losses
        above = losses - self.floor
        if self.reference is None:
            return above
        return np.where(above > 0, self.knee * np.log1p(np.maximum(above, 0.0) / self.knee), above)

    def told(self, played: Any) -> Any:
        """The losses that were played as these numbers."""
        if self.reference is not None:
            played = np.where(
                played > 0, self.knee * np.expm1(np.clip(played, 0.0, 600 * self.knee) / self.knee), played
            )
        return played + self.floor

    def start(
        self,
        n_arms: int,
        horizon: float,
        *,
        seed: int | None = None,
        costs: Sequence[float] | str | None = None,
        max_pulls: Sequence[int] | None = None,
    ) -> Game:
        """Open a game; with ``costs``, ``horizon`` is the budget in their unit and need not be whole.

        With ``costs="measured"`` they are learnt on the way, from ``game.tell(arm, losses, cost=...)``.
        """
        if costs is None and max_pulls is None:
            return super().start(n_arms, horizon, seed=seed)  # type: ignore[arg-type]  # checked there
        if seed is not None:
            checks.whole("seed", seed, at_least=0)
        budget = Budget.checked(n_arms, horizon, costs=costs, max_pulls=max_pulls)
        if self.certified and isinstance(budget, MeasuredBudget):
            raise InvalidParameter(
                "costs='measured': must be known beforehand when certified, the radius depends on them"
            )
        return Game(self, LiveHorizonPlay(self, budget, log=True))

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> HorizonLCBPlay:
        budget = Budget.of_pulls(n_arms, horizon)
        return LiveHorizonPlay(self, budget, log=log) if runs == 1 else HorizonLCBPlay(self, budget, runs, log=log)

    def open_curves(self, budget: Budget, runs: int) -> CurveStates:
        """The predictions of all arms; certified ones have a radius in the place of the standard deviation."""
        if not self.certified:
            return self.curve.start(runs, budget.lengths)
        assert isinstance(self.curve, PowerLaw)
        assert self.curve.sigma is not None
        claim = Claim(len(budget.costs), math.ceil(budget.lengths.max()), self.delta or 1 / max(budget.total, 2.0))
        return CertifiedStates(self.curve, SelfNormalized(self.curve.sigma), claim, runs)
