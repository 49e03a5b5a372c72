"""One small Ray cluster for all tests that need one: starting it takes longer than most of them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """Ray with two processors; its address."""
    import ray

    with pytest.MonkeyPatch.context() as patch:
        here = os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
        patch.setenv("PYTHONPATH", here)  # so that workers find the classes of tests
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        started = ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        yield started.address_info["address"]
        ray.shutdown()
