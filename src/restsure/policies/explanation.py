"""Why this arm now, in words: the index of the arm that is next, its rival, and what would bring the rival's turn."""

import copy
import math
from typing import TYPE_CHECKING

import numpy as np

from restsure.problem import amount

if TYPE_CHECKING:
    from restsure.policies.horizon_play import HorizonLCBPlay

_HALVINGS = 12  # of the interval in which the loss is sought that would turn the decision


def explain_horizon(play: "HorizonLCBPlay") -> str:
    """The state of a live game of optimism at the reach, as if no pull were out."""
    row = np.array([0])
    sure = "certified" if play.policy.certified else "not certified"
    if play.done[0]:
        return _explain_the_end(play, sure)
    play = copy.deepcopy(play)
    play.wanted[0], play.log = 0, None
    play.curves.refresh(row)  # what was told since the last decision, beside pulls that are out
    given = play.pulls[row]
    room = np.where(play.failed[row], 0.0, play.budget.room(given))
    cold = np.flatnonzero((given[0] < play.first) & (room[0] >= 1))
    if cold.size:
        return (
            f"Every arm is pulled {play.first.max()} times before anything is compared; {cold.size} arms have not been."
        )
    index, mean = (part[0] for part in play.index(row, given, room))
    order = [arm for arm in np.argsort(index, kind="stable").tolist() if room[0, arm] >= 1]
    if not order:
        return "Nothing is left to pull; the pulls that are out are waited for."
    arm = order[0]
    tied = len(order) > 1 and index[order[1]] < 0 and not play.below[0]  # both could be at the floor
    index, mean = (play.policy.told(part if play.below[0] else np.maximum(part, 0.0)) for part in (index, mean))
    lower = "as low as" if tied else "lower than"
    lines = [
        f"Arm {arm} is next: it could reach {amount(given[0, arm] + room[0, arm])} pulls, where its loss is predicted to be "
        f"{mean[arm]:.4g} and could, optimistically, be {index[arm]:.4g} ({sure}): {lower} any other's."
    ]
    if len(order) == 1:
        return lines[0] + " No other arm can still be pulled."
    rival = order[1]
    turn = f"For the rival to be pulled, the prediction for arm {arm} has to rise by {index[rival] - index[arm]:.3g}."
    if tied:
        turn = "No loss can be lower than that, and the one with fewer pulls comes first."
    lines.append(
        f"Its rival is arm {rival}: predicted {mean[rival]:.4g} and optimistically {index[rival]:.4g} at up to "
        f"{amount(given[0, rival] + room[0, rival])} pulls. {turn}"
    )
    lines.append(_what_would_turn_it(play, arm))
    return " ".join(lines)


def _explain_the_end(play: "HorizonLCBPlay", sure: str) -> str:
    """Why the arm that was returned."""
    if play.failed[0].all():
        return "Every arm has failed; there is nothing to return."
    row, arm = np.array([0]), int(play.choice[0])
    loss = np.where(play.failed[0] | (play.pulls[0] == 0), np.inf, play.standing(row)[0])
    why = "is the lowest" if loss[arm] <= loss.min() else "is what was recorded"  # by another version of the rule
    text = (
        f"The budget is spent. Arm {arm} is returned: its estimated loss of {play.interval(0, arm)[0]:.4g} after "
        f"{play.pulls[0, arm]:,} pulls {why} ({sure})"
    )
    loss[arm] = np.inf
    rival = int(loss.argmin())
    if not np.isfinite(loss[rival]):
        return text + "."
    return text + f"; the next is arm {rival} with {loss[rival]:.4g} after {play.pulls[0, rival]:,}."


def _what_would_turn_it(play: "HorizonLCBPlay", arm: int) -> str:
    """The lowest loss which, shown by all pulls of the next block, would make another arm the next one."""
    trial = copy.deepcopy(play)
    trial.decide(np.array([0]))
    times = int(trial.wanted[0, arm])
    played, spread = (float(part[0, arm]) for part in play.estimate(np.array([0])))
    noise = play.curves.variance_of_a_loss(arm) ** 0.5
    if not math.isfinite(spread + noise):
        return "How far its losses scatter is not known yet."

    def turns(loss: float) -> int | None:
        other = copy.deepcopy(trial)
        other.observe(np.array([arm]), np.full((1, times), loss))
        if other.done[0]:
            return None
        other.decide(np.array([0]))
        chosen = np.flatnonzero(other.wanted[0])
        return int(chosen[0]) if chosen.size and chosen[0] != arm else None

    now, high = (float(play.policy.told(loss)) for loss in (played, played + 20 * (noise + spread)))
    low = now
    what = f"its next {times} losses" if times > 1 else "its next loss"
    if turns(high) is None:
        return f"Nothing that {what} can show would change that."
    if turns(low) is not None:
        return f"If {what} only repeat{'s' if times == 1 else ''} the present {now:.4g}, it is the turn of arm {turns(low)}."
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if turns(middle) is not None else (middle, high)
    return f"That happens if {what} come{'s' if times == 1 else ''} out above {high:.4g} (it stands at {now:.4g} now)."
