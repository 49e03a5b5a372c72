"""Policies by name, as they are played in benchmarks."""

from collections.abc import Callable

import numpy as np

from restsure import checks
from restsure.arms import Arms, Gaussian, RoundNoise
from restsure.bounds import ExactWeights
from restsure.estimators import CurveBank, PowerLaw
from restsure.policies import (
    UCBE,
    ExploreThenCommit,
    FixedExploration,
    HorizonLCB,
    Policy,
    RestSure,
    RisingElimination,
    RisingSuccessiveRejects,
    RisingUCB,
    RisingUCBE,
    RoundRobin,
    SuccessiveHalving,
    SuccessiveRejects,
)
from restsure.simulation.suites.row import Row

Entry = Callable[[Row, Arms], Policy]
"""A policy for one problem: oracles look at the arms, all others do not."""


def _always(policy: Policy) -> Entry:
    return lambda row, arms: policy


def _gaps(row: Row, arms: Arms) -> tuple[float, ...]:
    """Distances to the best arm after T pulls, as the papers' oracles are told them: their T-th pull is our T + 1-st."""
    last = row.horizon + 1 if arms.longest is None else min(row.horizon + 1, arms.longest)
    losses = arms.means(np.array([0]), last)[0]
    return tuple((losses - losses.min()).tolist())


def _sigma(arms: Arms) -> float:
    return arms.noise.sigma if isinstance(arms.noise, (Gaussian, RoundNoise)) and arms.noise.sigma > 0 else 0.1


def _published_rising_ucbe(row: Row, arms: Arms) -> Policy:
    """The oracle's exploration with the papers' ``b`` for the setting and the factor of the published curves."""
    b = {"Setting B": 1.001, "IMDB": 1.5}.get(row.group.split(",")[0], 1.3)
    return RisingUCBE(sigma=_sigma(arms), b=b, gaps=_gaps(row, arms), factor=10)


LINE_UP: dict[str, Entry] = {
    "horizon": _always(HorizonLCB()),
    "round-robin": _always(RoundRobin()),
    "rr-sw": _always(RoundRobin(eps=0.25)),
    "rr-sw-published": _always(RoundRobin(eps=0.25, stuck_losses=3)),
    "explore-10": _always(FixedExploration(0.1)),
    "explore-30": _always(FixedExploration(0.3)),
    "explore-50": _always(FixedExploration(0.5)),
    "halving": _always(SuccessiveHalving(2)),
    "halving-3": _always(SuccessiveHalving(3)),
    "sr": _always(SuccessiveRejects()),
    "r-sr": _always(RisingSuccessiveRejects()),
    "r-sr-published": _always(RisingSuccessiveRejects(stuck_losses=3)),
    "ucb-e-oracle": lambda row, arms: UCBE(gaps=_gaps(row, arms)),
    "ucb-e": _always(UCBE()),
    "r-ucbe-published": _published_rising_ucbe,
    "r-ucbe": lambda row, arms: RisingUCBE(sigma=_sigma(arms)),
    "r-ed-ucb": lambda row, arms: RisingUCB(sigma=_sigma(arms)),
    "rising-elimination": _always(RisingElimination()),
    "horizon-known": lambda row, arms: HorizonLCB(PowerLaw(0.5, _sigma_or_half(arms))),
    "horizon-power-law": _always(HorizonLCB(PowerLaw(0.5))),
    "horizon-bank": _always(HorizonLCB(CurveBank(), patience=2)),
    "etc": _always(ExploreThenCommit(0.5)),
    "etc-published": _always(ExploreThenCommit.as_published(0.5)),
    "rest-sure": _always(RestSure(0.5)),
    "rest-sure-exact": lambda row, arms: RestSure(0.5, bound=ExactWeights(_sigma_or_half(arms))),
    "rest-sure-published": _always(RestSure.as_published(0.5)),
}
"""``-published``: with the constants, and the bugs, of the public code; ``-oracle``: told the true gaps."""

DEFAULTS: dict[str, tuple[str, ...]] = {
    "in-model": (
        *("round-robin", "explore-10", "explore-30", "explore-50", "halving", "halving-3", "sr", "r-sr"),
        *("rest-sure-published", "rest-sure", "rest-sure-exact", "horizon-known", "horizon"),
    ),
    "rising": (
        *("round-robin", "rr-sw-published", "rr-sw", "ucb-e-oracle", "r-ucbe-published", "r-ucbe", "sr"),
        *("r-sr-published", "r-sr", "halving", "halving-3", "explore-10", "explore-30", "explore-50", "rest-sure"),
        "horizon",
    ),
    "shapes": (
        *("round-robin", "explore-10", "explore-30", "explore-50", "halving", "halving-3", "sr", "r-sr", "rest-sure"),
        *("horizon-bank", "horizon"),
    ),
    "curves": (
        *("round-robin", "explore-10", "explore-30", "explore-50", "halving", "halving-3", "sr", "r-sr"),
        *("r-ucbe", "rising-elimination", "rest-sure", "horizon-bank", "horizon"),
    ),
}
"""Who plays when nobody is named."""


def _sigma_or_half(arms: Arms) -> float:
    """The noise where it is Gaussian; one half for losses in [0, 1]."""
    return arms.noise.sigma if isinstance(arms.noise, Gaussian) and arms.noise.sigma > 0 else 0.5


def entries(names: list[str]) -> dict[str, Entry]:
    """The named policies, in that order."""
    return {name: LINE_UP[checks.choice("policies", name, list(LINE_UP))] for name in names}
