"""The smallest whole number with a property, for theorems that define a pull count by itself."""

from collections.abc import Callable, Iterable


def smallest(holds: Callable[[int], bool], low: int, high: int, cuts: Iterable[int] = ()) -> int | None:
    """The smallest ``n`` in [low, high] with ``holds(n)``, or None.

    Between two neighbouring ``cuts``, once ``holds`` it must go on holding; across a cut it may cease to. Bisection
    costs ``log(high - low)`` calls for each piece, so that a horizon of 1e9 is as cheap as one of 1e3.

    >>> smallest(lambda n: n * n > 50, 1, 100)
    8
    """
    ends = sorted({high, *(cut for cut in cuts if low <= cut < high)})
    start = low
    for end in ends:
        if start <= end and holds(end):
            bottom, top = start, end
            while bottom < top:
                middle = (bottom + top) // 2
                bottom, top = (bottom, middle) if holds(middle) else (middle + 1, top)
            return top
        start = end + 1
    return None
