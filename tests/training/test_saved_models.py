"""What is written of a model is what comes back, part by part; what would not is refused when it is written."""

import contextlib
import math
import pickle
import random
import sys
import threading
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import date, datetime, timedelta
from functools import partial
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from river import feature_extraction, linear_model, neighbors, rules, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer
from sklearn.random_projection import SparseRandomProjection

import restsure as rs
from restsure.training.saving import files
from restsure.training.saving.model_file import read_model, types_in, write_model
from restsure.training.saving.tree import Description, full_name, name_of
from tests.training.zoo import learner


class Bag:
    """A model of one's own; whatever it has learnt is its attributes."""

    def __init__(self, **parts: Any):
        vars(self).update(parts)


class Slotted:
    __slots__ = ("left", "right")


class Numbered(dict):
    pass


Pair = namedtuple("Pair", "one two")


def there_and_back(directory: Path, model: Any, like: Any = None) -> Any:
    write_model(directory / "model", model, like=like)
    return read_model(directory / "model", model if like is None else like)


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
NUMPY = hnp.arrays(hnp.scalar_dtypes().filter(lambda dtype: dtype.kind in "biufcSU"), hnp.array_shapes(max_dims=3))
KEYS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.tuples(st.integers(), st.text())
)


def within(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(parts, max_size=4)
    pairs = st.lists(st.tuples(KEYS, parts), max_size=4)
    return (
        lists
        | lists.map(tuple)
        | lists.map(deque)
        | pairs.map(dict)
        | pairs.map(OrderedDict)
        | pairs.map(lambda items: defaultdict(list, items))
        | st.sets(KEYS, max_size=4)
        | st.frozensets(KEYS, max_size=4)
        | lists.map(lambda items: Bag(items=items, **{"a name": items}))
        | NUMPY
        | NUMPY.map(lambda array: array.T)
        | NUMPY.map(lambda array: array.ravel()[0])
    )


def alike(one: Any, two: Any) -> bool:
    """By rules that have nothing to do with the file's."""
    if type(one) is not type(two):
        return False
    if isinstance(one, np.ndarray):
        steps = [[array.strides[k] for k in range(array.ndim) if array.shape[k] > 1] for array in (one, two)]
        same = one.dtype == two.dtype and one.shape == two.shape and steps[0] == steps[1]
        return same and one.tobytes() == two.tobytes()
    if isinstance(one, np.generic):
        return one.dtype == two.dtype and one.tobytes() == two.tobytes()
    if isinstance(one, dict):
        return len(one) == len(two) and all(map(alike, one.items(), two.items()))
    if isinstance(one, (list, tuple, deque)):
        return len(one) == len(two) and all(map(alike, one, two))
    if isinstance(one, Bag):
        return alike(vars(one), vars(two))
    if isinstance(one, float):
        return repr(one) == repr(two)
    return bool(one == two)


@given(st.recursive(PLAIN | NUMPY, within, max_leaves=12))
def test_whatever_a_model_holds_comes_back(tmp_path_factory: pytest.TempPathFactory, parts: Any) -> None:
    model = Bag(parts=parts)
    assert alike(there_and_back(tmp_path_factory.getbasetemp(), model), model)


def test_what_is_one_object_stays_one(tmp_path: Path) -> None:
    shared, array, itself = [1.0, -0.0, math.nan], np.arange(6.0), list[Any]()
    itself.append(itself)
    model = Bag(a=shared, b=(shared, {"c": shared}), d=array, e=[array], itself=itself)
    model.owner = model
    back = there_and_back(tmp_path, model)
    assert back.owner is back
    assert back.a is back.b[0] is back.b[1]["c"]
    assert back.d is back.e[0]
    assert back.itself[0] is back.itself
    assert str(back.a) == "[1.0, -0.0, nan]"
    back.d[0] = 7
    assert back.e[0][0] == 7


def test_arrays_lie_in_memory_as_before(tmp_path: Path) -> None:
    """Parts of others, with gaps, backwards, and in each other's memory."""
    whole = np.arange(24.0).reshape(4, 6)
    model = Bag(
        cut=np.asfortranarray(whole)[:2], one=whole, view=whole[1:3, ::2], back=whole[::-1], other=whole.copy("F")
    )
    there = there_and_back(tmp_path, model)
    for name, array in vars(model).items():
        assert alike(getattr(there, name), array)
    there.one[1, 2] = -1
    assert there.view[0, 1] == there.back[2, 2] == -1
    assert there.cut[1, 2] != -1


def test_random_numbers_go_on(tmp_path: Path) -> None:
    model = Bag(a=random.Random(1), b=np.random.RandomState(2))
    model.a.gauss(0, 1)
    model.b.normal()
    model.b.normal(size=700)
    back = there_and_back(tmp_path, model)
    assert [back.a.gauss(0, 1), back.a.random()] == [model.a.gauss(0, 1), model.a.random()]
    assert back.b.normal(size=5).tolist() == model.b.normal(size=5).tolist()


def test_objects_of_many_kinds(tmp_path: Path) -> None:
    slotted = Slotted()
    slotted.left = slotted
    numbered = Numbered({1: "one"})
    numbered.name = "of a dictionary"
    going = iter([1, 2, 3, 4])
    next(going)
    objects = np.empty((2, 2), object)
    objects[:] = [[1, None], ["two", slotted]]
    objects[0, 1] = [3, 4]
    model = Bag(
        slotted=slotted,
        numbered=numbered,
        pair=Pair(1, [2]),
        going=going,
        objects=objects,
        counts=Counter("abca"),
        few=deque([1, 2], maxlen=2),
        made=partial(Bag, x=1),
        item=itemgetter("b"),
        span=range(1, 9, 2),
        rank={slotted: 1},
        method=slotted.__class__,
        lower=str.lower,
        sine=np.sin,
        mean=stats.Mean(),
        times=[datetime(2024, 2, 29, 12), date(1999, 12, 31), timedelta(days=1)],
    )
    back = there_and_back(tmp_path, model)
    assert back.slotted.left is back.slotted
    assert not hasattr(back.slotted, "right")
    assert (back.numbered, back.numbered.name) == ({1: "one"}, "of a dictionary")
    assert type(back.numbered) is Numbered
    assert back.pair == Pair(1, [2])
    assert list(back.going) == [2, 3, 4]
    assert back.objects.shape == (2, 2)
    assert back.objects[1, 1] is back.slotted
    assert back.objects[0, 1] == [3, 4]
    assert back.times == model.times
    assert (back.counts["z"], back.counts["a"], back.few.maxlen) == (0, 2, 2)
    assert vars(back.made()) == {"x": 1}
    assert (back.item({"b": 5}), list(back.span), back.lower("A"), back.sine is np.sin) == (5, [1, 3, 5, 7], "a", True)
    assert back.rank[back.slotted] == 1


def test_ten_thousand_parts_below_each_other(tmp_path: Path) -> None:
    """A tree that grows to one side, as river's do on sorted data, is as deep as it has nodes."""
    model = Bag(left=None)
    for _ in range(10_000):
        model = Bag(left=model)
    depth, at = 0, there_and_back(tmp_path, model)
    while at.left is not None:
        depth, at = depth + 1, at.left
    assert depth == 10_000


def test_functions_are_those_of_the_candidate(tmp_path: Path) -> None:
    """Also those that have no name to be found by; another candidate's are not."""
    model = Bag(function=lambda x: x + 1)
    assert there_and_back(tmp_path, model).function is model.function
    with pytest.raises(rs.InvalidParameter, match=r"model: names types that are not trusted: .*<lambda>"):
        read_model(tmp_path / "model", Bag(function=len))


def test_classes_are_trusted_by_package(tmp_path: Path) -> None:
    """What training makes of the package that a candidate comes from is trusted; other packages are not."""
    tree = linear_model.LinearRegression()
    write_model(tmp_path / "model", tree)
    assert types_in(tmp_path / "model") == [
        "river._river_rust.vectordict:VectorDict",
        "river.linear_model.lin_reg:LinearRegression",
        "river.optim.initializers:Zeros",
        "river.optim.losses:Squared",
        "river.optim.schedulers:Constant",
        "river.optim.sgd:SGD",
    ]
    with pytest.raises(
        rs.InvalidParameter, match=r"not trusted: river._river.*:LinearRegression, .*, river.optim.sgd:SGD"
    ):
        read_model(tmp_path / "model", Bag())


def test_classes_of_the_candidates_own_package_are_trusted(tmp_path: Path) -> None:
    """What it makes of them in training is there when it is loaded for a candidate that has none yet."""
    assert type(there_and_back(tmp_path, Bag(part=Slotted()), like=Bag()).part) is Slotted
    with pytest.raises(rs.InvalidParameter, match=r"Bag: cannot be saved, .*Untrusted: sklearn.*:SGDClassifier"):
        write_model(tmp_path / "model", Bag(part=SGDClassifier()), like=Bag())


class Guess(ClassifierMixin, BaseEstimator):
    """Of one's own, with numpy's new generator, an estimator inside that no parameter names, and one array in two places."""

    def __init__(self, seed: int = 0):
        self.seed = seed

    def partial_fit(self, x: Any, y: Any, classes: Any = None) -> None:
        if classes is not None:
            self.classes_, self.rng_, self.seen_ = classes, np.random.default_rng(self.seed), np.zeros(3)
            self.twice_, self.inner_ = self.seen_, SGDClassifier(random_state=0)
        self.seen_ += self.rng_.random(3)
        self.inner_.partial_fit(x, y, classes=self.classes_)

    def predict(self, x: Any) -> Any:
        return self.classes_[(self.inner_.predict(x) + np.argmax(self.twice_)) % len(self.classes_)]


def test_an_estimator_of_ones_own(tmp_path: Path) -> None:
    losses = learner(Guess(), "digits").train(6)
    one, two = learner(Guess(), "digits"), learner(Guess(), "digits")
    one.train(3)
    one.save(tmp_path)
    two.load(tmp_path)
    assert two.model.twice_ is two.model.seen_
    assert two.train(3) == losses[3:]


def test_types_in_a_skops_file(tmp_path: Path) -> None:
    one = learner(RandomForestClassifier(1, random_state=0), "digits")
    one.train(1)
    write_model(tmp_path / "model", one.model)
    found = types_in(tmp_path / "model")
    assert {"sklearn.tree._tree:Tree", "sklearn.ensemble._forest:RandomForestClassifier", "numpy:ndarray"} <= {*found}
    assert all(name.partition(":")[0].partition(".")[0] in ("builtins", "numpy", "sklearn") for name in found)


class Keyed(BaseEstimator):
    """Has a dictionary that skops does not give back as it was."""

    def fit(self, x: Any, y: Any) -> None:
        self.seen_ = {False: 1, True: 2}


def trained(model: Any, data: str) -> Any:
    one = learner(model, data)
    one.train(2)
    return one.model


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Bag(lock=threading.Lock()), r"_thread:lock: cannot be saved \(cannot pickle"),
        (lambda: Bag(rows=(row for row in [])), r"builtins:generator: cannot be saved"),
        (lambda: Bag(file=sys.stdout), r"cannot be saved"),
        (lambda: Bag(f=[lambda: 1, lambda: 2]), r"Bag: cannot be saved, .*Untrusted: .*<lambda>"),
        (lambda: Bag(rng=np.random.default_rng(0)), r"Bag: cannot be saved, .*numpy.random._generator:Generator"),
        (lambda: Bag(e=ValueError("x")), r"Bag: cannot be saved, .*builtins:ValueError"),
        (
            lambda: neighbors.KNNClassifier(),
            r"KNNClassifier: cannot be saved, since river.neighbors.ann.swinn:SWINN depends",
        ),
        (lambda: rules.AMRules(), r"AMRules: cannot be saved, since river.rules.amrules:AMRules depends on addresses"),
        (
            lambda: feature_extraction.RandomTreesEmbedding() | linear_model.LogisticRegression(),
            r"Pipeline: cannot be saved, since river.feature_extraction.kernel_approx:RandomTreesEmbedding depends",
        ),
        (
            lambda: trained(make_pipeline(SparseRandomProjection(5, random_state=0), SGDClassifier()), "digits"),
            r"Pipeline: cannot be saved, since it has learnt a sparse matrix, scipy.sparse._csr:csr_matrix",
        ),
        (lambda: trained_keyed(), r"Keyed: cannot be saved to the bit \(.*\)"),
        (lambda: FunctionTransformer(partial(np.add, 1)), r"FunctionTransformer: cannot be saved, .*PartialNode"),
        (lambda: FunctionTransformer(lambda x: x), r"FunctionTransformer: cannot be saved"),
    ],
    ids=[
        *["lock", "generator", "file", "lambdas", "Generator", "exception", "SWINN", "AMRules", "addresses"],
        *["sparse", "keys", "partial", "lambda"],
    ],
)
def test_what_cannot_be_saved_to_the_bit_is_refused_at_once(tmp_path: Path, make: Any, said: str) -> None:
    """In a line that names it; what was saved before stays."""
    (tmp_path / "model").write_bytes(b"before")
    with pytest.raises(rs.InvalidParameter, match=said) as error:
        write_model(tmp_path / "model", make())
    assert "\n" not in str(error.value)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"before"]


def trained_keyed() -> Any:
    model = Keyed()
    model.fit(None, None)
    return model


def test_what_only_training_brings_must_be_trusted_when_saved(tmp_path: Path) -> None:
    """Splines are scipy's, which the candidate gives no reason to trust: that is said when saving, not when loading."""
    one = learner(make_pipeline(SplineTransformer(3), SGDClassifier(random_state=0)), "digits")
    one.save(tmp_path)
    one.train(1)
    with pytest.raises(rs.InvalidParameter, match=r"Pipeline: cannot be saved, .*scipy.interpolate._bsplines:BSpline"):
        one.save(tmp_path)
    one.load(tmp_path)
    assert one.pulls == 0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_pickle_is_the_users_word(tmp_path: Path) -> None:
    """It holds what other files cannot, and is not loaded without the word."""
    candidate = make_pipeline(SparseRandomProjection(5, random_state=0), SGDClassifier(random_state=0))
    losses = learner(candidate, "digits").train(4)
    one = learner(candidate, "digits")
    one.pickled = True
    one.train(2)
    one.save(tmp_path)
    [file] = tmp_path.glob("*.pickle")
    two = learner(candidate, "digits")
    with pytest.raises(rs.InvalidParameter, match=r"pickle: is pickled, and can run any code: .* pickled=True"):
        two.load(tmp_path)
    with pytest.raises(rs.InvalidParameter, match=r"pickle: is pickled: what is in it can be known only by running it"):
        types_in(file)
    assert two.pulls == 0
    two.pickled = True
    two.load(tmp_path)
    assert two.train(2) == losses[2:]
    assert type(read_model(file, candidate, pickled=True)) is type(candidate)
    file.write_bytes(pickle.dumps(SGDClassifier()))
    with pytest.raises(rs.InvalidParameter, match=r"it is of a .*SGDClassifier, not of a sklearn.pipeline:Pipeline"):
        read_model(file, candidate, pickled=True)


def test_without_skops_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("skops", "skops.io"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(rs.MissingExtra, match=r"pip install 'restsure\[sklearn\]'"):
        write_model(tmp_path / "model", SGDClassifier())
    assert not list(tmp_path.iterdir())
    write_model(tmp_path / "model", linear_model.LinearRegression())


def test_a_save_that_breaks_off_leaves_one_learner_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any moment: before the model is there, between the two files, and before the old model is removed."""
    one, calls, found = learner(SGDClassifier(random_state=0), "digits"), list[int](), list[int]()
    states = {pulls: (one.train(1), Description(one.model).text())[1] for pulls in (1, 2)}

    def breaking(function: Any, after: int) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            calls.append(after)
            if calls.count(after) > after:
                raise OSError(28, "No space left on device")
            return function(*arguments, **options)

        return call

    for after in range(9):
        stopped = learner(SGDClassifier(random_state=0), "digits")
        stopped.train(1)
        stopped.save(tmp_path)
        stopped.train(1)
        with monkeypatch.context() as patch, contextlib.suppress(OSError):
            for owner, name in ((files.os, "fsync"), (Path, "replace"), (Path, "iterdir")):
                patch.setattr(owner, name, breaking(getattr(owner, name), after))
            stopped.save(tmp_path)
        fresh = learner(SGDClassifier(random_state=0), "digits")
        fresh.load(tmp_path)
        assert Description(fresh.model).text() == states[fresh.pulls]
        found.append(fresh.pulls)
    assert found == [1, 1, 1, 1, 1, 2, 2, 2, 2]
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".skops"]


def test_a_class_that_calls_its_module_by_the_last_part_is_named_in_full(monkeypatch: pytest.MonkeyPatch):
    # as the compiled losses of scikit-learn before 1.9 do: their module is loaded by both names
    module = ModuleType("package.compiled")
    monkeypatch.setitem(sys.modules, "package.compiled", module)
    monkeypatch.setitem(sys.modules, "compiled", module)
    assert name_of(type("Loss", (), {"__module__": "compiled"})) == "package.compiled:Loss"
    assert full_name("package.compiled") == "package.compiled"
    assert full_name("not.loaded") == "not.loaded"


def test_a_module_loaded_by_an_unrelated_name_keeps_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "stand_in", ModuleType("package.compiled"))
    assert full_name("stand_in") == "stand_in"
    monkeypatch.setitem(sys.modules, "piled", ModuleType("package.compiled"))  # an ending, but no part of the name
    assert full_name("piled") == "piled"
