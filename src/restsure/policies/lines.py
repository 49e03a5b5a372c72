"""The decisions of Algorithms 1 and 2, one function a line of the paper.

Arrays have one row a run and one column an arm; an arm that is no longer active has an infinite loss.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure.policies.envelope import Elimination, dominated_arms

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Commit:
    """Line 4 for every run: does it fire, for which arm, against which rival, by what lead."""

    fires: NDArray[np.bool_]
    arm: NDArray[np.intp]
    rival: NDArray[np.intp]
    loss: Floats
    lead: Floats


def line_4_commit(losses_at_reach: Floats, gap: Any) -> Commit:
    """Alg. 1 line 4 and Alg. 2 line 4: is one arm ahead of all others at the furthest state, beyond doubt?

    Fires when ``mu^_i(tau_out) < min_{j != i} mu^_j(tau_out) - 2 CB``; a single active arm is always ahead.
    """
    runs = np.arange(len(losses_at_reach))
    arm = losses_at_reach.argmin(axis=1)
    loss = losses_at_reach[runs, arm]
    others = losses_at_reach.copy()
    others[runs, arm] = np.inf
    rival = others.argmin(axis=1)
    lead = others[runs, rival] - loss
    return Commit(lead > gap, arm, rival, loss, lead)


def line_7_stop(best_after_round: Floats, best_at_reach: Floats, width: Any, reach_after_round: Any) -> Any:
    """Alg. 2 line 7: would one more round cost more than it could tell?

    Fires when ``min_i mu^_i(tau_out - |A| + 1) - 2 CB > min_i mu^_i(tau_out)``. ``width`` is ``2 CB``; for a radius that
    depends on m it is the sum of the radii at both states. No such state is left when the reach falls below one.
    """
    return (best_after_round - width > best_at_reach) | (reach_after_round < 1)


def line_11_candidates(losses_now: Floats, gap_now: Any, losses_at_reach: Floats, gap_at_reach: Any) -> Any:
    """Arms that fail line 11 at both ends of [n, tau_out] already; no other arm can be eliminated."""
    behind_now = losses_now - losses_now.min(axis=1, keepdims=True)
    behind_at_reach = losses_at_reach - losses_at_reach.min(axis=1, keepdims=True)
    return (behind_now > np.asarray(gap_now)[..., None]) & (behind_at_reach > np.asarray(gap_at_reach)[..., None])


def line_11_eliminate(
    alpha: Floats, beta: Floats, *, pulls: int, reach: int, rho: float, gap: Callable[[Floats], Any]
) -> Elimination:
    """Alg. 2 line 11, one run: for all m in [n, tau_out] there is a j with ``mu^_i(m) - mu^_j(m) > 2 CB``.

    All active arms are tested against the same set and dropped together. That equals dropping one after the other: the
    arm that beats a dropped rival at some m beats there, by more, whatever the rival beat.
    """
    return dominated_arms(alpha, beta, first=pulls, last=reach, rho=rho, gap=gap)
