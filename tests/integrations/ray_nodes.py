"""A run on two machines, as Ray sees it, of which one dies on the way: ``python -m tests.integrations.ray_nodes DIR``.

All candidates are trained in turn, so that those on the machine that dies are missed. It must end as one that nobody disturbs.
"""

import sys
import time
import warnings
from pathlib import Path
from typing import Any

from ray.cluster_utils import Cluster

import restsure as rs
from restsure.integrations.ray import RayExecutor
from tests.faults.runs import outcome
from tests.integrations.ray_driver import models


def is_gone(pid: str) -> bool:
    """Whether a process has ended; nobody may have asked how."""
    try:
        return "\nState:\tZ" in Path("/proc", pid, "status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    other = cluster.add_node(num_cpus=2)  # four candidates, four places: two are there all the time

    def kill_one(moment: Any) -> None:
        global other
        if moment.game.spent >= 40 and other is not None:
            cluster.remove_node(other, allow_graceful=False)
            other = None
            late = time.monotonic() + 60
            while not any(is_gone(path.stem) for path in folder.glob("*.pid")):  # it takes them a while to notice
                assert time.monotonic() < late, "nobody died"
                time.sleep(0.05)

    in_turn = rs.RestSure.as_published(rho=0.5)  # which gives nobody up at such a budget
    same: dict[str, Any] = {"budget": 120, "policy": in_turn, "progress": False, "random_state": 0}
    executor = RayExecutor(2, address=cluster.address)
    result = rs.select(models(folder), executor=executor, run_dir=folder / "run", callbacks=[kill_one], **same)
    cluster.shutdown()
    assert result.notes, "nothing was lost"
    assert outcome(result) == outcome(rs.select(models(), executor=rs.ProcessExecutor(2), **same)), "it ended otherwise"
