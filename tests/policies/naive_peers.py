"""The peers' rules written plainly, for one game on a table of losses: ``table[i][s-1]`` is the s-th loss of arm i."""

import math


def _finish(pulls: list[int], answer: int, horizon: int) -> tuple[list[int], int]:
    pulls = list(pulls)
    pulls[answer] += horizon - sum(pulls)
    return pulls, answer


def _last(losses: list[float], eps: float | None) -> float:
    h = len(losses) if eps is None else max(1, math.floor(eps * len(losses)))
    return sum(losses[-h:]) / h


def rejects(table, horizon: int, eps: float | None) -> tuple[list[int], int]:
    k = len(table)
    logbar = 0.5 + sum(1 / i for i in range(2, k + 1))
    alive, pulls = list(range(k)), [0] * k
    for j in range(1, k):
        n = max(1, math.ceil((horizon - k) / (logbar * (k + 1 - j))))
        for i in alive:
            pulls[i] = n
        alive.remove(max(alive, key=lambda i: _last(table[i][:n], eps)))
    return _finish(pulls, alive[0], horizon)


def halving(table, horizon: int, eta: float, eps: float | None) -> tuple[list[int], int]:
    alive, pulls = list(range(len(table))), [0] * len(table)
    rungs, size = 0, len(table)
    while size > 1:
        rungs, size = rungs + 1, math.ceil(size / eta)
    while len(alive) > 1:
        more = horizon // (len(alive) * rungs)
        if pulls[alive[0]] == 0:
            more = max(more, 1)
        more = min(more, (horizon - sum(pulls)) // len(alive))
        for i in alive:
            pulls[i] += more
        keep = math.ceil(len(alive) / eta)
        alive = sorted(sorted(alive, key=lambda i: _last(table[i][: pulls[i]], eps))[:keep])
    return _finish(pulls, alive[0], horizon)


def explore(table, horizon: int, fraction: float, eps: float | None) -> tuple[list[int], int]:
    n = max(1, int(fraction * horizon / len(table)))
    best = min(range(len(table)), key=lambda i: _last(table[i][:n], eps))
    return _finish([n] * len(table), best, horizon)


def _projection(y: list[float], m: int, eps: float) -> tuple[float, int]:
    n = len(y)
    h = math.floor(eps * n)
    total = sum(y[k - 1] + (m - k) * (y[k - 1] - y[k - h - 1]) / h for k in range(n - h + 1, n + 1))
    return total / h, h


def rising_ucbe(table, horizon: int, sigma: float, a: float, eps: float, factor: float) -> tuple[list[int], int]:
    k = len(table)
    pulls = [0] * k
    for t in range(horizon):
        if t < k * math.ceil(1 / eps):
            arm = t % k
        else:
            index = []
            for i in range(k):
                value, h = _projection(table[i][: pulls[i]], horizon, eps)
                bonus = sigma * (horizon - pulls[i] + h - 1) * math.sqrt(factor * a / h**3)
                index.append(value - bonus)
            arm = index.index(min(index))
        pulls[arm] += 1
    final = [_projection(table[i][: pulls[i]], horizon, eps)[0] for i in range(k)]
    return pulls, final.index(min(final))


def rising_ucb(table, horizon: int, sigma: float, eps: float) -> tuple[list[int], int]:
    k = len(table)
    pulls = [0] * k
    for t in range(1, horizon + 1):
        if t <= k * math.ceil(1 / eps):
            arm = (t - 1) % k
        else:
            index = []
            for i in range(k):
                value, h = _projection(table[i][: pulls[i]], t, eps)
                bonus = sigma * (t - pulls[i] + h - 1) * math.sqrt(10 * math.log(t**4) / h**3)
                index.append(value - bonus)
            arm = index.index(min(index))
        pulls[arm] += 1
    return pulls, min(range(k), key=lambda i: _last(table[i][: pulls[i]], eps))


def ucbe(table, horizon: int, a: float) -> tuple[list[int], int]:
    k = len(table)
    pulls = [0] * k
    for t in range(horizon):
        if t < k:
            arm = t
        else:
            index = [sum(table[i][: pulls[i]]) / pulls[i] - math.sqrt(a / pulls[i]) for i in range(k)]
            arm = index.index(min(index))
        pulls[arm] += 1
    return pulls, min(range(k), key=lambda i: sum(table[i][: pulls[i]]) / pulls[i])


def rising_elimination(table, horizon: int, steps: int) -> tuple[list[int], int]:
    alive, n, spent = list(range(len(table))), 0, 0
    pulls = [0] * len(table)
    while True:
        if n > steps:
            lowest = {i: min(table[i][:n]) for i in alive}
            reach = {
                i: max(0.0, lowest[i] - (min(table[i][: n - steps]) - lowest[i]) / steps * (horizon - spent))
                for i in alive
            }
            best = min(alive, key=lambda i: lowest[i])
            alive = [i for i in alive if i == best or lowest[best] > reach[i]]
        if len(alive) < 2 or horizon - spent < len(alive):
            return _finish(pulls, min(alive, key=lambda i: min(table[i][: pulls[i]])), horizon)
        for i in alive:
            pulls[i] += 1
        n, spent = n + 1, spent + len(alive)
