"""The numbers of a live game are compiled where a C compiler is at hand, and nothing depends on it."""

import hashlib
import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import numpy as np
import pytest

import restsure as rs
from restsure.estimators import compiled, live_filters, live_trend

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(live_filters.__file__)


def build(directory: Path, **environment: str) -> tuple[Path, str]:
    """A wheel of this checkout, and what was said."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=True, capture_output=True, text=True)
    [wheel] = directory.glob("*.whl")
    return wheel, done.stdout + done.stderr


def names(wheel: Path) -> list[str]:
    return [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith((".so", ".pyd"))]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpacked; compiled, as CI and any machine with a C compiler does it."""
    directory = tmp_path_factory.mktemp("wheel")
    found, said = build(directory)
    assert names(found), said
    assert "none-any" not in found.name
    zipfile.ZipFile(found).extractall(directory / "site")
    return directory / "site"


@pytest.fixture(scope="module")
def module(wheel: Path) -> ModuleType:
    """The compiled one."""
    package = wheel / "restsure" / "estimators"
    name = "restsure.estimators._live_filters"
    with patch.object(sys, "path", [str(wheel), *sys.path]), patch.object(rs, "__path__", [str(wheel / "restsure")]):
        rs.estimators.__path__.insert(0, str(package))
        held = sys.modules.pop(name, None)
        try:
            return importlib.import_module(name)
        finally:
            rs.estimators.__path__.remove(str(package))
            if held is not None:
                sys.modules[name] = held


def test_a_wheel_is_compiled_and_knows_of_what(wheel: Path) -> None:
    """Used by whoever installs it, from a directory of its own."""
    look = "from restsure.estimators import compiled; print(compiled.COMPILED, compiled.LiveFilters.__module__)"
    done = subprocess.run(
        [sys.executable, "-c", look], env=os.environ | {"PYTHONPATH": str(wheel)}, capture_output=True, text=True
    )
    assert done.stdout.split() == ["True", "restsure.estimators._live_filters"], done.stderr


def test_what_is_compiled_is_this_source(module: ModuleType) -> None:
    assert hashlib.sha256(SOURCE.read_bytes()).hexdigest() == module.DIGEST


def test_another_version_of_the_source_is_not_used(tmp_path: Path, module: ModuleType, monkeypatch) -> None:
    with patch.dict(sys.modules, {"restsure.estimators._live_filters": module}):
        assert compiled.compiled_module() is module
        changed = tmp_path / "live_filters.py"
        changed.write_text(SOURCE.read_text() + "\n")
        monkeypatch.setattr(live_filters, "__file__", str(changed))
        assert compiled.compiled_module() is None
        monkeypatch.setattr(live_filters, "__file__", str(tmp_path / "gone.py"))
        assert compiled.compiled_module() is None


@pytest.mark.parametrize("environment", [{"RESTSURE_COMPILE": "0"}, {"CC": "false"}])
def test_without_a_compiler_it_is_built_as_it_is_written(tmp_path: Path, environment: dict[str, str]) -> None:
    found, said = build(tmp_path, **environment)
    assert found.name.endswith("-py3-none-any.whl")
    assert not names(found)
    assert ("not compiled" in said) == ("CC" in environment)


def losses(seed: int, n_arms: int, horizon: int) -> np.ndarray:
    """Of all kinds: falling, running away, far above the others, rising, below zero, and none at all."""
    rng = np.random.default_rng(seed)
    s = np.arange(1.0, horizon + 1)
    found = rng.uniform(0, 1, (n_arms, 1)) * s ** -rng.uniform(0.1, 1, (n_arms, 1)) + rng.uniform(0, 0.5, (n_arms, 1))
    found[rng.random(n_arms) < 0.1] *= 1e5
    found += np.where(rng.random((n_arms, 1)) < 0.1, np.exp(np.minimum(0.1 * s, 100)), 0)
    found += np.where(rng.random((n_arms, 1)) < 0.1, 0.4 * (s > 20), 0)
    found += rng.choice([0, 0.01, 0.1]) * rng.normal(size=found.shape)
    return found * rng.choice([0.0, 1.0, 1.0, 1.0]) - rng.choice([0.0, 0.0, 0.3])


@pytest.mark.parametrize("seed", range(60))
def test_games_are_the_same_to_the_bit(seed: int, module: ModuleType) -> None:
    rng = np.random.default_rng([9, seed])
    n_arms, horizon = int(rng.integers(1, 16)), int(rng.integers(16, 400))
    table, outcomes = losses(seed, n_arms, horizon), []
    for kind in (live_filters.LiveFilters, module.LiveFilters):
        with patch.object(live_trend, "LiveFilters", kind):
            game, seen = rs.HorizonLCB().start(n_arms, horizon), []
            while (pull := game.ask()) is not None:
                before = game.pulls[pull.arm]
                game.tell(pull.arm, table[pull.arm, before : before + pull.times])
                seen.append((pull, game.outlook(horizon)))
            assert type(game._play.curves.live) is kind
        outcomes.append((seen, game.recommend(), game.log))
    assert outcomes[0] == outcomes[1]
