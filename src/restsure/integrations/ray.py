"""Ray: candidates of ``select`` as actors of a cluster, and the policy as a scheduler of Ray Tune's trials."""

from restsure.errors import MissingExtra

try:
    import ray.tune  # noqa: F401
except ImportError:
    raise MissingExtra("RayExecutor and HorizonScheduler need Ray: pip install 'restsure[ray]'") from None

from restsure.integrations.ray_executor import RayExecutor
from restsure.integrations.ray_ledger import recommended
from restsure.integrations.ray_scheduler import HorizonScheduler

__all__ = ["HorizonScheduler", "RayExecutor", "recommended"]
