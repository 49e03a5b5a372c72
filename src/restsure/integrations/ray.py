"""Ray: candidates of ``select`` as actors of a cluster, and the policy as a scheduler of Ray Tune's trials."""

from restsure.errors import MissingExtra

try:
    import ray.tune  # noqa: F401
except ImportError:
    raise MissingExtra("RayExecutor and HorizonScheduler need Ray: pip install 'restsure[ray]'") from None

from restsure.integrations.ray_executor import RayExecutor

__all__ = ["RayExecutor"]
