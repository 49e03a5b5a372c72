"""A table of losses, and a way to play a live game on it."""

import numpy as np

import restsure as rs


class Losses:
    """Power-law arms with Gaussian noise of .02, every loss drawn beforehand."""

    def __init__(self, n_arms: int, horizon: int, seed: int, rho: float = 0.5):
        rng = np.random.default_rng([77, seed])
        self.rho = rho
        self.alpha, self.beta = rng.uniform(0, 0.5, n_arms), rng.uniform(0, 0.5, n_arms)
        pulls = np.arange(1, horizon + 1.0)
        self.table = self.alpha[:, None] * pulls**-rho + self.beta[:, None] + rng.normal(0, 0.02, (n_arms, horizon))

    def mean(self, arm: int, pull: int) -> float:
        return float(self.alpha[arm] * pull**-self.rho + self.beta[arm])


def play(game: rs.Game, losses: Losses | np.ndarray, max_times: int | None = None) -> rs.Game:
    table = losses.table if isinstance(losses, Losses) else losses
    told = [0] * len(table)
    while (pull := game.ask(max_times=max_times)) is not None:
        end = told[pull.arm] + pull.times
        game.tell(pull.arm, table[pull.arm, told[pull.arm] : end])
        told[pull.arm] = end
    return game
