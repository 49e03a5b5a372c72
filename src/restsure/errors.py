"""Every error restsure raises on purpose.

    RestSureError
    ├── InvalidParameter (ValueError)      a parameter has a value its rule forbids
    │   └── WrongType (TypeError)          ... or is not of the kind it must be
    ├── InvalidLoss (ValueError)           a loss is missing, superfluous, NaN, infinite or no number
    ├── OutOfTurn (RuntimeError)           an arm was told, failed or asked for when it could not be
    ├── NoArmLeft (RuntimeError)           every arm has failed, or none has been pulled
    ├── LearnerFailed (RuntimeError)       a learner in a process of its own could not do what was asked of it
    │   └── LearnerLost                    ... since the place where it was trained is gone
    ├── MissingExtra (ImportError)         an optional dependency is not installed
    └── RunError                           something about a run directory
        ├── DamagedRun (ValueError)        it is not what a run has written, or of a format that is not known
        ├── RunInUse (RuntimeError)        another process is writing to it
        └── WriteFailed (OSError)          it cannot be written: disk full, read-only, failing

A message names the parameter, its value and the rule it breaks, in one line. An object that raises one of these
is left exactly as it was before the call.
"""


class RestSureError(Exception):
    """Base of all errors of this package."""


class InvalidParameter(RestSureError, ValueError):
    """A parameter has a value its rule forbids."""


class WrongType(InvalidParameter, TypeError):
    """A parameter is not of the kind it must be (text, None or a boolean where a number is due, say)."""


class InvalidLoss(RestSureError, ValueError):
    """A loss is missing, superfluous, NaN, infinite or no number at all."""


class OutOfTurn(RestSureError, RuntimeError):
    """A call does not fit the state of the game: that arm was not asked for, has failed, or is still out."""


class NoArmLeft(RestSureError, RuntimeError):
    """There is no arm to recommend: every arm has failed, or none has been pulled yet."""


class LearnerFailed(RestSureError, RuntimeError):
    """A learner in a process of its own could not do what was asked of it; the message says what happened there."""


class LearnerLost(LearnerFailed):
    """The place where a learner was trained, an actor or a machine, is gone, and what it had learnt there with it."""


class MissingExtra(RestSureError, ImportError):
    """An optional dependency is needed; the message names the extra that brings it."""


class RunError(RestSureError):
    """Something about a run directory; the message names it."""


class DamagedRun(RunError, ValueError):
    """A run directory is not what a run has written: cut, changed, or of a format that this version does not know."""


class RunInUse(RunError, RuntimeError):
    """Another process is writing to this run directory, or has taken it over."""


class WriteFailed(RunError, OSError):
    """A run directory cannot be written; what was recorded before stays, and the run can be resumed."""
