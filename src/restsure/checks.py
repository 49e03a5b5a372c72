"""Checks of parameters. Each returns the value as a plain Python or numpy number, or says what is wrong with it."""

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure.errors import InvalidParameter, WrongType


def real(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
) -> float:
    """A finite real number within the limits given; booleans, text and None are no numbers here.

    >>> real("rho", 1, above=0, at_most=1)
    1.0
    >>> real("rho", 1.5, above=0, at_most=1)
    Traceback (most recent call last):
    ...
    restsure.errors.InvalidParameter: rho=1.5: must be above 0 and at most 1
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise WrongType(f"{name}={value!r}: must be a real number, not {type(value).__name__}")
    number = float(value)
    limits = (
        (above, number > above if above is not None else True, "above"),
        (at_least, number >= at_least if at_least is not None else True, "at least"),
        (below, number < below if below is not None else True, "below"),
        (at_most, number <= at_most if at_most is not None else True, "at most"),
    )
    if not math.isfinite(number) or not all(kept for _, kept, _ in limits):
        rule = " and ".join(f"{word} {limit:g}" for limit, _, word in limits if limit is not None)
        raise InvalidParameter(f"{name}={value!r}: must be {rule or 'finite'}")
    return number


def whole(name: str, value: Any, *, at_least: int | None = None, at_most: int | None = None) -> int:
    """A whole number within the limits given. A float is refused even when it is whole: 1e4 is usually a slip.

    >>> whole("n_arms", 0, at_least=1)
    Traceback (most recent call last):
    ...
    restsure.errors.InvalidParameter: n_arms=0: must be at least 1
    """
    if type(value) is not int and (isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral)):
        raise WrongType(f"{name}={value!r}: must be a whole number, not {type(value).__name__}")
    number = int(value)
    if at_least is not None and number < at_least:
        raise InvalidParameter(f"{name}={value!r}: must be at least {at_least}")
    if at_most is not None and number > at_most:
        raise InvalidParameter(f"{name}={value!r}: must be at most {at_most}")
    return number


def instance(name: str, value: Any, kind: type) -> None:
    """An object of one of our own kinds."""
    if not isinstance(value, kind):
        raise WrongType(f"{name}={value!r}: must be of kind {kind.__name__}, not {type(value).__name__}")


def real_array(name: str, values: Any) -> NDArray[np.float64]:
    """An array of finite real numbers, copied; booleans and text are refused, an empty array too."""
    try:
        array = np.array(values)
    except ValueError as error:
        raise WrongType(f"{name}: must be a rectangular array of real numbers ({error})") from None
    if array.dtype.kind not in "iuf":
        raise WrongType(f"{name}={values!r}: must hold real numbers, not {array.dtype}")
    if array.size == 0:
        raise InvalidParameter(f"{name}: must not be empty")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InvalidParameter(f"{name}: must be finite, but entry {bad[0]} is {array.flat[bad[0]]}")
    return array.astype(np.float64)


def within(name: str, array: NDArray[np.float64], *, low: float, high: float = math.inf) -> NDArray[np.float64]:
    """All entries in [low, high]."""
    bad = np.flatnonzero((array < low) | (array > high))
    if bad.size:
        rule = f"at least {low:g}" if math.isinf(high) else f"in [{low:g}, {high:g}]"
        raise InvalidParameter(f"{name}: must be {rule}, but entry {bad[0]} is {array.flat[bad[0]]:g}")
    return array


def choice(name: str, value: Any, allowed: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in allowed:
        raise InvalidParameter(f"{name}={value!r}: must be one of {', '.join(map(repr, allowed))}")
    return value
