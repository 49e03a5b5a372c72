"""A page that follows runs live: read-only, on this machine, for whoever has its token. Needs the extra ``dashboard``."""

from restsure.report.dashboard.server import serve

__all__ = ["serve"]
