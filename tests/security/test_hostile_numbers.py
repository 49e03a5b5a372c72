"""Models of the right types with wrong numbers in them, which compiled code would follow out of its memory."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from restsure.training.saving.sklearn_checks import check_parts
from restsure.training.saving.tree import Description
from tests.security.forge import npy, put, refused, saved
from tests.security.test_hostile_models import NUMBERS, edited, plain, several

Members = dict[str, bytes]


def put_array(part: Any, members: Members, edit: Callable[[Any], Any]) -> None:
    """Change an array of a file in place, or put what ``edit`` returns in its place."""
    array = np.load(io.BytesIO(members[part["file"]]))
    made = edit(array)
    members[part["file"]] = npy(array if made is None else made)


def within(schema: Any, *path: Any) -> Any:
    """A part of a part: attributes by name, what is in lists by number."""
    for step in path:
        schema = schema["content"][step] if isinstance(step, int) else schema["content"]["content"][step]
    return schema


def set_entry(field: str | None, at: Any, value: Any) -> Callable[[Any], Any]:
    def edit(array: Any) -> None:
        (array if field is None else array[field])[at] = value

    return edit


def of_array(*path: Any, edit: Callable[[Any], Any]) -> Callable[[Any, Members], None]:
    return lambda schema, members: put_array(within(schema, *path), members, edit)


def of_node(edit: Callable[[Any], Any], *path: Any) -> Callable[[Any, Members], None]:
    return lambda schema, members: edit(within(schema, *path))


TREE = ("estimators_", 0, "tree_")


def nodes(edit: Callable[[Any], Any]) -> Callable[[Any, Members], None]:
    """The nodes of the first tree of a forest."""
    return lambda schema, members: put_array(within(schema, *TREE)["content"]["content"]["nodes"], members, edit)


def count(value: Any) -> Callable[[Any, Members], None]:
    return of_node(lambda tree: tree["content"]["content"].update(node_count=plain(value)), *TREE)


def arguments(at: int, value: Any) -> Callable[[Any, Members], None]:
    return of_node(lambda tree: tree["__reduce__"]["args"]["content"].__setitem__(at, plain(value)), *TREE)


def attribute(name: str, value: Any, *path: Any) -> Callable[[Any, Members], None]:
    return of_node(lambda part: part["content"]["content"].update({name: value}), *path)


def layouts(*found: Any) -> Callable[[Any, Members], None]:
    return lambda schema, members: members.update({"layouts.json": json.dumps(found).encode()})


def numbered_anew(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: next(NUMBERS) if key == "__id__" else numbered_anew(value) for key, value in part.items()}
    return [numbered_anew(item) for item in part] if isinstance(part, list) else part


def more_columns(schema: Any, members: Members) -> None:
    """Two trees a round where there is a column for one: it would be written beside the array."""
    grown = within(schema, "estimators_")
    grown["content"] = [several(*row["content"], *map(numbered_anew, row["content"])) for row in grown["content"]]
    grown["shape"] = several(plain(2), plain(2), kind="tuple")


MEANS = ("steps", 0, 1)
CASES: dict[str, tuple[str, Callable[[Any, Members], None], str]] = {
    "a child that is not there": ("forest", nodes(set_entry("left_child", 0, 10**6)), "Tree: its nodes"),
    "a child before its parent": ("forest", nodes(set_entry("right_child", 0, 0)), "Tree: its nodes"),
    "a child below zero": ("forest", nodes(set_entry("left_child", 0, -7)), "Tree: its nodes"),
    "a feature that is not there": ("forest", nodes(set_entry("feature", 0, 10**6)), "Tree: its features"),
    "a feature below zero": ("forest", nodes(set_entry("feature", 0, -9)), "Tree: its features"),
    "nodes of another dtype": ("forest", nodes(lambda array: np.zeros((len(array), 8))), "damaged"),
    "no nodes": ("forest", nodes(lambda array: array[:0]), "a tree of 0 nodes"),
    "fewer nodes": ("forest", nodes(lambda array: array[:2]), "a tree of 2 nodes"),
    "more nodes than there are": ("forest", count(10**9), "says that it has 1000000000"),
    "half a node": ("forest", count(0.5), "says that it has 0.5"),
    "a tree of more features": ("forest", arguments(0, 10**6), "its estimators_"),
    "a tree of more outputs": ("forest", arguments(2, 2**40), "damaged"),
    "a tree of outputs below zero": ("forest", arguments(2, -1), "damaged"),
    "a forest of fewer features": ("forest", attribute("n_features_in_", plain(3)), "its estimators_"),
    "a tree that is text": ("forest", attribute("tree_", plain("oak"), "estimators_", 0), "damaged"),
    "a stump": ("forest", of_node(lambda tree: tree["content"]["content"].pop("tree_"), "estimators_", 0), "damaged"),
    "two trees for a column": ("boosting", more_columns, "GradientBoostingClassifier: its estimators_"),
    "features without end": ("boosting", attribute("n_features_in_", plain(2**40)), "its estimators_"),
    "short averages": ("average", of_array("_average_coef", edit=lambda array: array[:, :1]), "its coef_"),
    "short weights": ("average", of_array("coef_", edit=lambda array: array[:, :1]), "its coef_"),
    "one intercept": ("average", of_array("_average_intercept", edit=lambda array: array[:1]), "its intercept_"),
    "few counts": ("means", of_array(*MEANS, "_counts", edit=lambda array: array[:1]), "its _counts"),
    "few centres": (
        "means",
        of_array(*MEANS, "cluster_centers_", edit=lambda array: array[:, :2]),
        "its cluster_centers_",
    ),
    "memory without end": ("average", layouts({"size": 2**50, "arrays": [[1, 0, [8]]]}), "damaged"),
    "memory below zero": ("average", layouts({"size": -8, "arrays": []}), "damaged"),
    "a place outside": ("average", layouts({"size": 8, "arrays": [[1, 10**9, [8]]]}), "damaged"),
    "a place of no array": ("average", layouts({"size": 8, "arrays": [[0, 0, [8]]]}), "damaged"),
    "a place of no part": ("average", layouts({"size": 8, "arrays": [[10**6, 0, [8]]]}), "damaged"),
    "layouts that are none": ("average", layouts(1, "x"), "damaged"),
}


@pytest.mark.parametrize(("name", "edit", "said"), CASES.values(), ids=CASES)
def test_numbers(tmp_path: Path, name: str, edit: Any, said: str) -> None:
    put(tmp_path, saved(name)[0], edited(name, edit))
    refused(tmp_path, name, said)


def test_a_place_in_random_numbers_that_is_not_there(tmp_path: Path) -> None:
    """numpy takes it, and would read beyond the 624 words that there are."""

    def edit(schema: Any, members: Members) -> None:
        state = within(schema, "random_state")["content"]["content"]["state"]["content"]
        state["pos"] = plain(10**6)

    put(tmp_path, saved("network")[0], edited("network", edit))
    refused(tmp_path, "network", "RandomState: its random numbers")


BOOSTED: dict[str, tuple[str, Any, str]] = {
    "left": ("left", 10**6, "nodes"),
    "right": ("right", 0, "nodes"),
    "feature": ("feature_idx", 99, "features"),
    "categories": ("is_categorical", 1, "categories"),
}


@pytest.mark.parametrize(("field", "value", "said"), BOOSTED.values(), ids=BOOSTED)
def test_trees_of_histograms(tmp_path: Path, field: str, value: Any, said: str) -> None:
    predictor = ("_predictors", 0, 0)
    put(
        tmp_path,
        saved("histogram")[0],
        edited("histogram", of_array(*predictor, "nodes", edit=set_entry(field, 0, value))),
    )
    refused(tmp_path, "histogram", f"TreePredictor: its {said}")


def test_trees_of_categories() -> None:
    """Honest ones pass, and sets of categories that are not there do not."""
    rng = np.random.default_rng(0)
    x = np.c_[rng.integers(0, 5, 200), rng.normal(size=200)]
    model = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0], min_samples_leaf=5).fit(x, x[:, 0] > 2)
    check_parts(Description(model).held)
    predictor = model._predictors[0][0]
    split = np.flatnonzero(predictor.nodes["is_categorical"])[0]
    predictor.nodes["bitset_idx"][split] = 99
    with pytest.raises(ValueError, match="TreePredictor: its categories"):
        check_parts(Description(model).held)
