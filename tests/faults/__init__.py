"""Everything that can break a run."""

import os

MORE = int(os.environ.get("RESTSURE_TORTURE", "1"))
"""``make torture`` multiplies the counts."""
