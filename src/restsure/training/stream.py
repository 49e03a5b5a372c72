"""Where the batches come from: pull s of every candidate is trained on the same s-th batch.

Each candidate has a position of its own, so that its state never depends on the others, and curves are comparable.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure.errors import InvalidParameter, WrongType

Batch = tuple[Any, Any]


class Stream(ABC):
    """Batches by number, from 0 on, for ever: after the last one comes the next pass over the data.

    ``nan``: whether features may have NaN, for candidates that take it.
    """

    def __init__(self, nan: bool = False):
        self.nan = nan

    @abstractmethod
    def batch(self, s: int) -> Batch:
        """The features and targets that pull s + 1 is trained on."""

    @abstractmethod
    def is_new(self, s: int) -> bool:
        """Whether batch s is of the first pass: later ones have no sample that was not seen."""

    @abstractmethod
    def classes(self) -> NDArray[Any]:
        """The distinct targets, as far as they are known."""

    @abstractmethod
    def example(self, label: Any) -> Batch:
        """A batch of one sample of that class, or of none where none is known."""


class ArrayStream(Stream):
    """Arrays, data frames or sparse matrices in batches of random order, reshuffled for every pass by the seed."""

    def __init__(self, x: Any, y: Any, *, batch_size: int, seed: int, nan: bool = False):
        super().__init__(nan)
        self.x, self.y = checked_pair("data", x, y, nan=nan)
        self.size = min(batch_size, len(self.y))
        self.a_pass = len(self.y) // self.size
        self.seed = seed
        self._remember()

    def _remember(self) -> None:
        self._order = lru_cache(maxsize=4)(self._shuffled)  # candidates are in different passes at the same time

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_order"}  # it can be made again

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._remember()

    def _shuffled(self, number: int) -> NDArray[np.intp]:
        return np.random.default_rng([self.seed, number]).permutation(len(self.y))

    def batch(self, s: int) -> Batch:
        number, k = divmod(s, self.a_pass)
        rows = self._order(number)[k * self.size : (k + 1) * self.size]
        return take(self.x, rows), self.y[rows]

    def is_new(self, s: int) -> bool:
        return s < self.a_pass

    def classes(self) -> NDArray[Any]:
        return np.unique(self.y)

    def example(self, label: Any) -> Batch:
        return _first(label, self.x, self.y)


class BatchStream(Stream):
    """Batches that somebody else makes: any iterable of pairs (X, y).

    A sequence is read by number. Batches of any other iterable are kept as they come, since candidates that are behind
    still need them; when it ends, the batches come again.
    """

    def __init__(self, batches: Iterable[Batch], nan: bool = False):
        super().__init__(nan)
        self.ready = batches if isinstance(batches, Sequence) else None
        self.kept = list[Batch]()
        self.coming: Iterator[Batch] | None = None if self.ready is not None else iter(batches)
        if self.ready is not None and not len(self.ready):
            raise InvalidParameter("data: must have at least one batch")

    def batch(self, s: int) -> Batch:
        if self.ready is not None:
            return _checked_batch(self.ready[s % len(self.ready)], s % len(self.ready), self.nan)
        while self.coming is not None and len(self.kept) <= s:
            try:
                self.kept.append(_checked_batch(next(self.coming), len(self.kept), self.nan))
            except StopIteration:
                self.coming = None
        if not self.kept:
            raise InvalidParameter("data: must have at least one batch")
        return self.kept[s % len(self.kept)]

    def is_new(self, s: int) -> bool:
        if self.ready is not None:
            return s < len(self.ready)
        return self.coming is not None or s < len(self.kept)

    def classes(self) -> NDArray[Any]:
        """Of all batches of a sequence; of the first one where the others are yet to come."""
        return np.unique(np.concatenate([y for _, y in self._known()]))

    def example(self, label: Any) -> Batch:
        return max((_first(label, x, y) for x, y in self._known()), key=lambda batch: len(batch[1]))

    def _known(self) -> Iterator[Batch]:
        count = 1 if self.ready is None else len(self.ready)
        return (self.batch(s) for s in range(count))


def open_stream(data: Any, *, batch_size: int, seed: int, nan: bool = False) -> Stream | None:
    """From what a user has: a pair of arrays, an iterable of batches or samples, or None when the learners own their data."""
    if data is None:
        return None
    if is_pair(data):
        return ArrayStream(*data, batch_size=batch_size, seed=seed, nan=nan)
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, dict)) and not hasattr(data, "shape"):
        return BatchStream(_in_batches(data, batch_size), nan)
    raise WrongType(f"data: must be (X, y), an iterable of batches (X, y), or None, not {type(data).__name__}")


def is_pair(data: Any) -> bool:
    """Whether it is features and targets, and not batches of them."""
    return isinstance(data, tuple) and len(data) == 2 and _rows(data[0]) is not None and _rows(data[1]) is not None


def _in_batches(data: Iterable[Any], size: int) -> Iterable[Batch]:
    """Batches as they are; single samples, as river's streams have them, so many together."""
    if isinstance(data, Sequence):
        first = data[0] if len(data) else None
        return list(_together(data, size)) if _is_sample(first) else data
    coming = iter(data)
    for first in coming:
        all_of_them = chain([first], coming)
        return _together(all_of_them, size) if _is_sample(first) else all_of_them
    return []


def _is_sample(item: Any) -> bool:
    """Whether it is the features of one sample and its target."""
    return isinstance(item, (tuple, list)) and len(item) == 2 and np.ndim(item[1]) == 0 and not hasattr(item[0], "iloc")


def _together(samples: Iterable[Any], size: int) -> Iterator[Batch]:
    coming = iter(samples)
    while some := list(islice(coming, size)):
        if other := [item for item in some if not _is_sample(item)]:
            raise WrongType(
                f"data: must be samples (x, y) throughout, as the first one is, but one is {other[0]!r:.100}"
            )
        x, y = zip(*some, strict=True)
        yield list(x) if isinstance(x[0], (dict, str)) else np.array(x), np.array(y)


def split_rows(data: tuple[Any, NDArray[Any]], share: float, seed: int) -> tuple[Batch, Batch]:
    """Two parts, the second with that share of the rows, drawn by the seed; each has one at least."""
    x, y = data
    if len(y) < 2:
        raise InvalidParameter(f"validation={share:g}: must leave rows to train on, but there is {len(y)} in all")
    count = min(max(round(share * len(y)), 1), len(y) - 1)
    order = np.random.default_rng([seed, 0, 1]).permutation(len(y))  # passes are shuffled by [seed, number]
    held, left = np.sort(order[:count]), np.sort(order[count:])
    return (take(x, left), y[left]), (take(x, held), y[held])


def checked_pair(name: str, x: Any, y: Any, *, nan: bool = False) -> tuple[Any, NDArray[Any]]:
    """Features and targets of the same number of rows, at least one; the features without NaN, unless ``nan``."""
    targets = np.asarray(y)
    rows = _rows(x)
    if rows is None:
        raise WrongType(f"{name}: X must have rows, but is {type(x).__name__}")
    if isinstance(x, (list, tuple)):
        x = np.asarray(x, dtype=object if isinstance(x[0], (str, dict)) else None) if rows else np.empty(0)
    if targets.ndim != 1:
        raise InvalidParameter(f"{name}: y must be one number or label a row, but has shape {targets.shape}")
    if rows != len(targets):
        raise InvalidParameter(f"{name}: X and y must have as many rows, but have {rows} and {len(targets)}")
    if rows == 0:
        raise InvalidParameter(f"{name}: must have at least one row")
    if targets.dtype.kind not in "biufOUS":
        raise WrongType(f"{name}: y must be numbers or labels, not {targets.dtype}")
    features = values_of(x)
    if not _is_finite(features) and (not nan or np.isinf(features).any()):
        rule = "finite or NaN, but has infinite" if nan else "finite, but has NaN or infinite"
        raise InvalidParameter(f"{name}: X must be {rule} entries")
    if not _is_finite(targets):
        raise InvalidParameter(f"{name}: y must be finite, but has NaN or infinite entries")
    if targets.dtype.kind == "O":
        _check_labels(name, targets)
    return x.tocsr() if hasattr(x, "tocsr") else x, targets


def values_of(x: Any) -> NDArray[Any]:
    """The entries of features; of a sparse matrix, those that it has."""
    return np.asarray(x.data if hasattr(x, "tocsr") else x.to_numpy() if hasattr(x, "to_numpy") else x)


def _check_labels(name: str, labels: NDArray[Any]) -> None:
    """Labels of any kind, as long as it is one kind, and none is missing."""
    for label in labels.tolist():
        if label is None or type(label).__name__ in ("NAType", "NaTType") or (type(label) is float and label != label):
            raise InvalidParameter(f"{name}: y must have a label in every row, but one is {label}")
    try:
        np.unique(labels)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        raise InvalidParameter(f"{name}: y must be labels of one kind, not of {' and '.join(kinds)}") from None


def is_text(labels: NDArray[Any]) -> bool:
    """Whether some are text, and no numbers."""
    kind = labels.dtype.kind
    return kind in "US" or (kind == "O" and any(isinstance(label, str) for label in labels.tolist()))


def _is_finite(array: NDArray[Any]) -> bool:
    """Whether there is no NaN and nothing infinite; of what are no floats, there is none."""
    if array.dtype.kind != "f":
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        flat = array.ravel(order="K") if array.flags.forc else None
        # takes no memory, and less time; where it overflows, it says nothing
        total = array.sum() if flat is None else flat @ flat
    return bool(np.isfinite(total) or np.isfinite(array).all())


def take(x: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of an array, a sparse matrix or a data frame."""
    return x.iloc[rows] if hasattr(x, "iloc") else x[rows]


def _first(label: Any, x: Any, y: NDArray[Any]) -> Batch:
    rows = np.flatnonzero(y == label)[:1]
    return take(x, rows), y[rows]


def _rows(x: Any) -> int | None:
    if hasattr(x, "shape"):
        return int(x.shape[0]) if len(x.shape) else None
    return len(x) if isinstance(x, (list, tuple)) else None


def _checked_batch(batch: Any, number: int, nan: bool) -> Batch:
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        raise WrongType(f"data: batch {number} must be a pair (X, y), but is {type(batch).__name__}")
    return checked_pair(f"data: batch {number}", *batch, nan=nan)
