"""Checkpoints as somebody would make them who means harm: any change is sealed with sums that are right."""

import functools
import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import dummy, forest, linear_model, preprocessing, stats
from sklearn.cluster import MiniBatchKMeans
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import restsure as rs
from restsure.training.adapters import BatchLearner
from restsure.training.saving.tree import Description
from tests.training.zoo import learner

CANDIDATES: dict[str, tuple[Callable[[], Any], str]] = {
    "average": (lambda: SGDClassifier(average=True, random_state=0), "digits"),
    "pipeline": (lambda: make_pipeline(StandardScaler(), SGDClassifier(random_state=0)), "digits"),
    "network": (lambda: MLPClassifier((4,), random_state=np.random.RandomState(0)), "digits"),
    "means": (
        lambda: make_pipeline(MiniBatchKMeans(5, n_init=1, random_state=0), SGDClassifier(random_state=0)),
        "digits",
    ),
    "forest": (lambda: RandomForestClassifier(2, max_depth=3, random_state=0), "two classes"),
    "boosting": (lambda: GradientBoostingClassifier(n_estimators=1, max_depth=2, random_state=0), "two classes"),
    "histogram": (lambda: HistGradientBoostingClassifier(max_iter=1, random_state=0), "two classes"),
    "river": (lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression(), "phishing"),
    "river forest": (lambda: forest.ARFClassifier(2, seed=0, grace_period=20), "phishing"),
    "river statistic": (lambda: dummy.StatisticRegressor(stats.RollingQuantile(0.5, 20)), "approval"),
}


def fresh(name: str) -> BatchLearner:
    make, data = CANDIDATES[name]
    return learner(make(), data)


@functools.cache
def saved(name: str) -> tuple[dict[str, Any], bytes]:
    """An honest checkpoint of two pulls: what ``learner.json`` says, and the bytes of the model."""
    with tempfile.TemporaryDirectory() as directory:
        one = fresh(name)
        one.train(2)
        one.save(directory)
        facts: dict[str, Any] = json.loads((Path(directory) / "learner.json").read_text())["learner"]
        return facts, (Path(directory) / facts["file"]).read_bytes()


def put(directory: Path, facts: dict[str, Any], model: bytes) -> Path:
    """Write a checkpoint with sums that are right; gives back where the model is."""
    digest = hashlib.sha256(model).hexdigest()
    facts = facts | {"file": f"model-{digest[:16]}.{facts['file'].rpartition('.')[2]}", "sha256": digest}
    (directory / facts["file"]).write_bytes(model)
    seal(directory, facts)
    return directory / facts["file"]


def seal(directory: Path, facts: Any) -> None:
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    (directory / "learner.json").write_text(json.dumps({"learner": facts, "sha256": digest}))


def refused(directory: Path, name: str, said: str) -> None:
    """One line that names the file; nothing has run; the learner goes on as if nobody had asked."""
    one, two = fresh(name), fresh(name)
    one.train(1)
    two.train(1)
    before, there = Description(one.model).text(), sorted(os.listdir(directory))
    with pytest.raises(rs.InvalidParameter, match=said) as error:
        one.load(directory)
    assert "\n" not in str(error.value)
    assert str(directory) in str(error.value)
    assert sorted(os.listdir(directory)) == there  # what is hidden in files here would make a directory
    assert (one.pulls, Description(one.model).text()) == (1, before)
    assert one.train(1) == two.train(1)


def accepted(directory: Path, name: str) -> None:
    one = fresh(name)
    one.load(directory)
    assert one.pulls == 2


def members_of(name: str) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(saved(name)[1])) as archive:
        return {member: archive.read(member) for member in archive.namelist()}


def zipped(members: dict[str, bytes], **options: Any) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return file.getvalue()


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()
