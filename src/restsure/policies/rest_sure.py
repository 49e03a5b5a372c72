"""Algorithm 2 of the paper."""

from dataclasses import dataclass

import numpy as np

from restsure.policies.lines import line_7_stop, line_11_candidates, line_11_eliminate
from restsure.policies.rounds import Ahead, RoundsPlay, RoundsPolicy, Standing


@dataclass(frozen=True)
class RestSure(RoundsPolicy):
    """REST-SURE, Algorithm 2: rested successive rejects.

    Pull the active arms in turn. After each round, with ``n`` pulls an arm and ``tau_out = n + T - t``: commit to an arm
    that is ahead of all others at ``tau_out`` (line 4); stop when one more round costs more than it can tell (line 7); drop
    every arm that some rival beats at each state still reachable (line 11). In the end return ``argmin mu^_i(tau_out)`` and
    give it all that is left.

    Known weaknesses: ``rho`` must be known and common to all arms; all active arms are pulled equally often.
    """

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> "RestSurePlay":
        return RestSurePlay(self, n_arms, horizon, runs, log=log)


class RestSurePlay(RoundsPlay):
    """Many games of Algorithm 2."""

    def judge(self, standing: Standing) -> None:
        ahead = self.commit_where_ahead(standing, "Alg. 2 line 4: ahead of all others at the reach")
        self._stop_where_not_worth_it(standing, ahead)
        self._drop_dominated(standing, ahead)

    def _stop_where_not_worth_it(self, standing: Standing, ahead: Ahead) -> None:
        after_round = standing.reach - standing.size + 1
        x = np.maximum(after_round, 1).astype(np.float64) ** -self.rho
        best = standing.losses(x).min(axis=1)
        width = self.bound.radius(standing.design, x, self.claim, standing.residuals) + self.bound.radius(
            standing.design, ahead.x, self.claim, standing.residuals
        )
        stops = line_7_stop(best, ahead.verdict.loss, width, after_round) & ~ahead.verdict.fires
        widths = np.broadcast_to(width, best.shape)
        for k in np.flatnonzero(stops).tolist():
            self.commit(
                int(standing.rows[k]),
                int(ahead.verdict.arm[k]),
                "Alg. 2 line 7: another round costs more than it can tell",
                int(ahead.verdict.rival[k]) if standing.size[k] > 1 else None,
                loss=float(ahead.verdict.loss[k]),
                loss_after_round=float(best[k]),
                needed=float(widths[k]),
                reach=float(standing.reach[k]),
            )

    def _drop_dominated(self, standing: Standing, ahead: Ahead) -> None:
        now = float(standing.n) ** -self.rho
        gap_now = self.bound.gap(standing.design, now, self.claim, standing.residuals)
        candidates = line_11_candidates(standing.losses(now), gap_now, ahead.losses, ahead.gap) & standing.active
        exploring = self.choice[standing.rows] < 0
        for k in np.flatnonzero(candidates.any(axis=1) & exploring).tolist():
            arms, residuals = np.flatnonzero(standing.active[k]), standing.residuals_of(k)
            verdict = line_11_eliminate(
                standing.alpha[k, arms],
                standing.beta[k, arms],
                pulls=standing.n,
                reach=int(standing.reach[k]),
                rho=self.rho,
                gap=lambda x, r=residuals: self.bound.gap(standing.design, x, self.claim, r),  # type: ignore[misc]
            )
            for i in np.flatnonzero(verdict.dominated).tolist():
                self.drop(
                    int(standing.rows[k]),
                    int(arms[i]),
                    "Alg. 2 line 11: a rival is better at every state still reachable",
                    int(arms[verdict.rival[i]]),
                    behind=float(verdict.behind[i]),
                    needed=float(verdict.needed[i]),
                    at=float(verdict.at[i]),
                )
