"""A run on two machines, as Ray sees it, of which one dies on the way: ``python -m tests.integrations.ray_nodes DIR``.

What came of it is printed in one line; where the learners have trained is in the directory.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

from ray.cluster_utils import Cluster

import restsure as rs
from restsure.integrations.ray import RayExecutor
from tests.faults.runs import outcome
from tests.integrations.ray_driver import models

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    other = cluster.add_node(num_cpus=1)

    def kill_one(moment: Any) -> None:
        global other
        if moment.game.spent >= 40 and other is not None:
            cluster.remove_node(other, allow_graceful=False)
            other = None

    result = rs.select(
        models(folder),
        budget=120,
        executor=RayExecutor(2, address=cluster.address),
        run_dir=folder / "run",
        callbacks=[kill_one],
        progress=False,
        random_state=0,
    )
    cluster.shutdown()
    assert result.notes, "nothing was lost"
    print(outcome(result))
