"""What survives a crash: the journal of a run, and the states of its learners."""

from restsure.journal.files import FILES, Files, plain_errors
from restsure.journal.journal import FORMAT, JOURNAL, Journal, in_use, read_records
from restsure.journal.paths import inside
from restsure.journal.records import Record, encoded
from restsure.journal.states import FOLDER, State, States
from restsure.journal.tail import Peek, Tail, peek

__all__ = [
    "FILES",
    "FOLDER",
    "FORMAT",
    "JOURNAL",
    "Files",
    "Journal",
    "Peek",
    "Record",
    "State",
    "States",
    "Tail",
    "encoded",
    "in_use",
    "inside",
    "peek",
    "plain_errors",
    "read_records",
]
