"""What scikit-learn's compiled code takes for granted: indices within bounds, arrays as long as each other.

It looks at none of this itself, so that a file with other numbers in it could make it read and write where it must not.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST_FEATURES = 10**7  # of what is tried out on a row of zeros


def check_parts(parts: Sequence[Any]) -> None:
    """All parts of a model that came from a file; raises ValueError where one cannot have been saved so."""
    for part in parts:
        kind = type(part)
        if isinstance(part, np.random.RandomState):
            _check(part, "random numbers", 0 <= part.get_state(legacy=False)["state"]["pos"] <= 624)
        elif isinstance(part, np.random.Generator):
            _check(part, "random numbers", type(part.bit_generator) is np.random.PCG64)
        elif kind.__name__ == "Tree" and kind.__module__ == "sklearn.tree._tree":
            _check_tree(part)
        elif hasattr(kind, "get_params"):
            _check_estimator(part, vars(part))
    for part in parts:
        if _is_a(part, "BaseGradientBoosting") and "estimators_" in vars(part):
            _check_columns(part)  # by use of parts that must be in order


def _check(part: Any, what: str, fits: Any) -> None:
    if not fits:
        raise ValueError(f"{type(part).__name__}: its {what} cannot be so")


def _check_tree(tree: Any) -> None:
    _check_nodes(
        tree, tree.children_left == -1, (tree.children_left, tree.children_right), tree.feature, tree.n_features
    )


def _check_nodes(
    tree: Any, leaf: NDArray[Any], children: tuple[NDArray[Any], NDArray[Any]], feature: NDArray[Any], n_features: int
) -> None:
    """Children come after their parents, and a split is by a feature that there is."""
    place = np.arange(len(leaf))
    _check(tree, "nodes", len(leaf) > 0)
    for child in children:
        _check(tree, "nodes", np.all(leaf | ((child > place) & (child < len(leaf)))))
    _check(tree, "features", np.all(leaf | ((feature >= 0) & (feature < n_features))))


def _is_a(part: Any, name: str) -> bool:
    return any(base.__name__ == name for base in type(part).__mro__)


def _check_estimator(part: Any, has: dict[str, Any]) -> None:
    n_features: Any = has.get("n_features_in_")
    for name in ("coef", "intercept"):
        sizes = {
            np.size(has[key])
            for key in (f"{name}_", f"_standard_{name}", f"_average_{name}")
            if has.get(key) is not None
        }
        _check(part, f"{name}_", len(sizes) <= 1)
    if "coef_" in has and n_features is not None:
        _check(part, "coef_", np.shape(has["coef_"])[-1:] == (n_features,))
    if "cluster_centers_" in has and "_counts" in has:
        _check(part, "_counts", np.shape(has["_counts"]) == np.shape(has["cluster_centers_"])[:1])
        _check(part, "cluster_centers_", np.shape(has["cluster_centers_"]) == (part.n_clusters, n_features))
    if "tree_" in has:
        _check(part, "tree_", type(part.tree_).__name__ == "Tree" and part.tree_.n_features == n_features)
    if "estimators_" in has and (_is_a(part, "BaseForest") or _is_a(part, "BaseGradientBoosting")):
        grown = np.ravel(np.array(part.estimators_, object))
        _check(part, "estimators_", all(vars(tree)["tree_"].n_features == n_features for tree in grown))
    if "_predictors" in has:
        categorical = np.asarray(part._bin_mapper.is_categorical_, bool)
        _check(part, "_bin_mapper", len(categorical) == len(part._bin_mapper.bin_thresholds_) == n_features)
        for predictor in (predictor for stage in part._predictors for predictor in stage):
            _check_predictor(predictor, categorical)


def _check_columns(boosting: Any) -> None:
    """There is a tree for each column of what its first estimator predicts."""
    _check(boosting, "n_features_in_", boosting.n_features_in_ <= _MOST_FEATURES)
    with warnings.catch_warnings(action="ignore"):  # that features have no names
        first = boosting._raw_predict_init(np.zeros((1, boosting.n_features_in_), np.float32))
    _check(boosting, "estimators_", np.shape(first) == (1, np.shape(boosting.estimators_)[1]))


def _check_predictor(predictor: Any, categorical: NDArray[Any]) -> None:
    """A tree of histogram gradient boosting."""
    nodes, leaf = predictor.nodes, predictor.nodes["is_leaf"].astype(bool)
    _check_nodes(predictor, leaf, (nodes["left"], nodes["right"]), nodes["feature_idx"], len(categorical))
    splits = nodes[~leaf & nodes["is_categorical"].astype(bool)]
    for bits in (predictor.raw_left_cat_bitsets, predictor.binned_left_cat_bitsets):
        _check(
            predictor, "categories", bits.ndim == 2 and bits.shape[1] == 8 and np.all(splits["bitset_idx"] < len(bits))
        )
    _check(predictor, "categories", np.all(categorical[splits["feature_idx"]]))
