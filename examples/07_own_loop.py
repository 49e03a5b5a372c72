"""A training loop of your own: ask which candidate is next, train it, tell its losses. One of them breaks on the way.

    python examples/07_own_loop.py

The candidates are small networks in plain NumPy, with four learning rates. Then the same by `select`, which takes the
generators that yield their losses and catches by itself what breaks.
"""

from collections.abc import Iterator

import numpy as np

import restsure as rs

RATES = (0.001, 0.01, 0.1, 10.0)


class Network:
    """One hidden layer that learns a sine wave from noisy samples."""

    def __init__(self, rate: float):
        self.rate, self.rng = rate, np.random.default_rng(0)
        self.inner = self.rng.normal(0, 2, (2, 32))
        self.outer = self.rng.normal(0, 0.1, (32, 1))

    def step(self) -> float:
        """Predict a new batch, then learn it; the mean squared error of the prediction."""
        x = np.column_stack([self.rng.uniform(-3, 3, 64), np.ones(64)])
        hidden = np.tanh(x @ self.inner)
        error = hidden @ self.outer - np.sin(2 * x[:, :1]) - self.rng.normal(0, 0.1, (64, 1))
        loss = float(np.mean(error**2))
        if loss > 1_000:
            raise FloatingPointError(f"diverged, with a loss of {loss:.0f}")
        back = error @ self.outer.T * (1 - hidden**2)
        self.outer -= self.rate * hidden.T @ error / 64
        self.inner -= self.rate * x.T @ back / 64
        return loss

    def losses(self) -> Iterator[float]:
        while True:
            yield self.step()


def main() -> None:
    networks = [Network(rate) for rate in RATES]
    game, asked = rs.HorizonLCB().start(n_arms=len(networks), horizon=1_000), False
    while (pull := game.ask()) is not None:
        try:
            losses = [networks[pull.arm].step() for _ in range(pull.times)]
        except FloatingPointError as error:
            game.fail(pull.arm, str(error))
        else:
            game.tell(pull.arm, losses)
        if game.spent > 50 and not asked:
            print(game.explain())
            asked = True
    best = game.recommend()
    print(f"Rate {RATES[best.arm]}: loss {best.loss:.4f} ({best.low:.4f} to {best.high:.4f}), steps {game.pulls}")

    result = rs.select({f"rate {rate}": Network(rate).losses() for rate in RATES}, budget=1_000)
    print(f"By select, {result}")
    print(f"  the same steps for each: {tuple(result.pulls.values()) == game.pulls}")
    print(f"  out: {result.failures}")


if __name__ == "__main__":
    main()
