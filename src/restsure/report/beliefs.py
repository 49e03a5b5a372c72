"""What the policy believed as a run went on, and what it believes now: got by playing the game again."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from restsure.errors import NoArmLeft
from restsure.journal import Record
from restsure.report.thinning import number, numbers
from restsure.training.identity import open_game
from restsure.training.replay import Progress, advance
from restsure.training.result import result_of, with_names

MOMENTS = 100  # of a run at which its predictions are kept
_BAND = 24  # steps at which a predicted curve is drawn
_AHEAD = 40  # budgets that are looked at beyond what is spent
_MOST = 8.0  # times the budget, up to which they go

Predicted = tuple[float, float, float]


class Beliefs:
    """The game of a run, played on record by record; keeps no losses."""

    def __init__(self, begin: Record):
        self.progress = Progress(*open_game(begin.body))
        self.moments = list[tuple[float, list[Predicted]]]()
        self._due = 0.0

    def add(self, record: Record) -> None:
        """Play on by one record; predictions are kept at the first one after every hundredth of the budget."""
        game = self.progress.game
        advance(self.progress, record, follow=True)
        self.progress.history.clear()
        if record.kind == "block" and (spent := game.spent) >= self._due:
            step = game.horizon / MOMENTS
            self._due = (math.floor(spent / step) + 1) * step
            if (seen := self._at_reach()) is not None:
                self.moments.append((spent, seen))

    def reaches(self) -> list[int]:
        """The training steps each candidate would have in the end, were it the only one from now on."""
        game = self.progress.game
        left = max(game.horizon - game.spent, 0.0)
        return [
            max(pulls, 1, min(pulls + int(left / cost), most))
            for pulls, cost, most in zip(game.pulls, game.costs, game.lengths, strict=True)
        ]

    def _at_reach(self) -> list[Predicted] | None:
        return self.progress.game.outlook(self.reaches())

    def tell(self, shown: Sequence[int]) -> dict[str, Any]:
        """Everything that is drawn of it, for JSON; bands of the candidates ``shown`` only."""
        game, reaches = self.progress.game, self.reaches()
        now = self._at_reach()
        trained = [arm for arm in range(game.n_arms) if game.pulls[arm] and arm not in game.failures]
        return {
            "spent": number(game.spent),
            "reach": reaches,
            "predicted": None
            if now is None
            else [numbers(now[arm]) if arm in trained else None for arm in range(len(now))],
            "bands": {
                arm: band for arm, band in zip(shown, self._bands(shown, reaches), strict=True) if arm in trained
            },
            "outlook": self._outlook(now, shown),
            "ahead": self._ahead(trained),
            **self._verdict(),
        }

    def _bands(self, shown: Sequence[int], reaches: Sequence[int]) -> list[dict[str, Any]]:
        """Predicted curves up to the reach; after the end, to where each would be with the whole budget for itself."""
        game = self.progress.game
        over = all(reach <= max(pulls, 1) for reach, pulls in zip(reaches, game.pulls, strict=True))
        ends = np.maximum(reaches, game.lengths) if over else reaches
        steps = np.geomspace(np.maximum(game.pulls, 1), ends, _BAND).round().astype(np.int64)
        seen = [game.outlook(row.tolist()) for row in steps]
        bands = list[dict[str, Any]]()
        for arm in shown:
            keep = [k for k in range(_BAND) if k == 0 or steps[k, arm] > steps[k - 1, arm]]
            parts = [[each[arm][part] for k in keep if (each := seen[k]) is not None] for part in range(3)]
            band = dict(zip(("mean", "low", "high"), map(numbers, parts), strict=True))
            bands.append({"steps": steps[keep, arm].tolist() if parts[0] else [], **band})
        return bands

    def _outlook(self, now: list[Predicted] | None, shown: Sequence[int]) -> dict[str, Any]:
        """Predicted final losses over the run, up to now."""
        moments = list(self.moments)
        if now is not None and moments and moments[-1][0] < self.progress.game.spent:
            moments.append((self.progress.game.spent, now))
        of = {
            arm: {
                part: numbers(seen[arm][k] if math.isfinite(seen[arm][2]) else math.nan for _, seen in moments)
                for k, part in enumerate(("mean", "low", "high"))
            }
            for arm in shown
        }
        return {"spent": numbers(spent for spent, _ in moments), "of": of}

    def _ahead(self, trained: Sequence[int]) -> dict[str, Any]:
        """The best prediction with other budgets, from what is spent on: what ``result.what_if`` says."""
        game = self.progress.game
        rows = list[tuple[float, int, Predicted]]()
        grid = np.geomspace(max(game.spent, 1e-300), _MOST * max(game.horizon, game.spent), _AHEAD)
        grid[0] = game.spent
        for budget in sorted({*grid.tolist(), float(max(game.horizon, game.spent))}) if trained else ():
            more = [int((budget - game.spent) / cost) for cost in game.costs]
            seen = game.outlook([max(1, pulls + steps) for pulls, steps in zip(game.pulls, more, strict=True)])
            if seen is not None:
                best = min(trained, key=lambda arm: seen[arm])
                rows.append((budget, best, seen[best]))
        return budgets(rows)

    def _verdict(self) -> dict[str, Any]:
        """Who is best by now, in a sentence, and how sure that is."""
        progress = self.progress
        try:
            result = result_of(progress.names, progress.game, (), model=lambda arm: None, interrupted=progress.stopped)
        except NoArmLeft as error:
            return {"sentence": str(error), "leader": None, "loss": None, "certificate": None}
        certificate = result.certificate
        return {
            "sentence": str(result),
            "leader": progress.names.index(result.name),
            "loss": numbers((result.loss, *result.interval)),
            "certificate": {
                "text": certificate.text,
                "bound": number(certificate.bound),
                "confidence": certificate.confidence,
                "certified": certificate.certified,
            },
        }

    def explain(self) -> str:
        """Why the candidate that is next, or was returned; costly while the run goes on."""
        words = self.progress.game.explain().partition("\n")[0].partition(f" {self.progress.game.unit}. ")[2]
        return with_names(words, self.progress.names)


def budgets(rows: Sequence[tuple[float, int, Predicted]]) -> dict[str, Any]:
    """Budgets, the best candidate with each, and its loss."""
    losses = {part: numbers(row[2][k] for row in rows) for k, part in enumerate(("loss", "low", "high"))}
    return {"budget": [number(row[0], 12) for row in rows], "arm": [row[1] for row in rows], **losses}
