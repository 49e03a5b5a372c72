"""What every policy must satisfy, for those who write one: ``check_policy(MyPolicy())``.

Each check plays small games on random power-law curves and raises an AssertionError that says what went wrong. They are
run over every policy of this package.
"""

from restsure.testing.conformance import CHECKS, check_policy

__all__ = ["CHECKS", "check_policy"]
