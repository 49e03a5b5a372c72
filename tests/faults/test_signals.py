"""Ctrl-C and SIGTERM end a run between two records: the best so far is given back, and the run goes on when resumed."""

import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

import restsure as rs
from restsure.journal import Files, journal
from restsure.training import findings
from tests.faults.runs import Walk, outcome, plain_models, train


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_of_a_pull(number: int, tmp_path: Path) -> None:
    class Signalled(Walk):
        def train(self, times: int) -> list[float]:
            if self.pulls <= 5 < self.pulls + times:
                os.kill(os.getpid(), number)
                time.sleep(5)
            return super().train(times)

    before = signal.getsignal(number)
    models = {**plain_models(), "slow": Signalled(1.0, 0.05, 1)}
    result = rs.select(models, budget=120, run_dir=tmp_path, progress=False, random_state=5)
    assert result.interrupted
    assert 0 < result.spent < 120
    assert signal.getsignal(number) is before
    run = rs.read_run(tmp_path)
    assert run.state == "stopped"
    assert run.records[-1].kind == "stop"
    assert run.records[-1].body["why"] == ("Ctrl-C" if number == signal.SIGINT else "SIGTERM")
    assert findings(tmp_path) == []


class Catching(Walk):
    """Catches whatever is raised, as some training loops do."""

    def train(self, times: int) -> list[float]:
        if self.pulls <= 5 < self.pulls + times:
            try:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(5)
            except BaseException:
                pass
        return super().train(times)


class Finalised(Walk):
    """Is interrupted in the callback of a weak reference, where Python lets no exception through."""

    def train(self, times: int) -> list[float]:
        if self.pulls <= 5 < self.pulls + times:
            thing = Walk(1.0, 0.0, 0)
            reference = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGINT))
            del thing
            assert reference() is None
        return super().train(times)


@pytest.mark.parametrize("kind", [Catching, Finalised])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_that_is_swallowed_ends_the_run_all_the_same(kind: type[Walk], tmp_path: Path) -> None:
    result = rs.select({**plain_models(), "odd": kind(1.0, 0.05, 1)}, budget=120, run_dir=tmp_path, progress=False)
    assert result.interrupted
    assert 0 < result.spent < 120
    assert rs.read_run(tmp_path).records[-1].body["why"] == "Ctrl-C"
    assert findings(tmp_path) == []


@pytest.mark.parametrize("call", ["BEGIN", "UPDATE", "INSERT", "COMMIT", "flush", "rename"])
def test_a_signal_within_a_record_waits_for_its_end(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the n-th such call, for many n: the record in hand is finished, and the run resumes to the same end."""
    whole = outcome(train("plain", None))

    class Signalling(Files):
        left = 0

        def about_to(self, name: str, path: Path) -> None:
            self.left -= name == call
            if self.left == 0 and name == call:
                os.kill(os.getpid(), signal.SIGINT)

    for at in range(5, 60, 9):
        files = Signalling()
        files.left = at
        with monkeypatch.context() as patch:
            patch.setattr(journal, "FILES", files)
            first = train("plain", tmp_path / str(at))
        if not first.interrupted:
            assert outcome(first) == whole
        assert findings(tmp_path / str(at)) == []
        assert outcome(train("plain", tmp_path / str(at))) == whole


def test_the_command_line_stops_with_one_line_and_resumes(tmp_path: Path) -> None:
    (tmp_path / "setup_slowly.py").write_text(
        "import time\n"
        "def loop(alpha, beta):\n"
        "    for s in range(1, 10**6):\n"
        "        time.sleep(0.02)\n"
        "        yield alpha / s**0.5 + beta\n"
        "def setup():\n"
        "    return {'candidates': {'slow': loop(1.0, 0.05), 'quick': loop(0.2, 0.3)}, 'budget': 60}\n"
    )
    command = [sys.executable, "-m", "restsure"]
    run = subprocess.Popen(
        [*command, "run", "setup_slowly:setup", "--dir", "out"], cwd=tmp_path, stdout=-1, stderr=-1, text=True
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        time.sleep(0.05)
        if (tmp_path / "out" / "journal.sqlite").exists() and len(rs.read_run(tmp_path / "out").records) > 5:
            break
    assert rs.read_run(tmp_path / "out").state == "running"  # and can be looked at meanwhile
    run.send_signal(signal.SIGTERM)
    out, error = run.communicate(timeout=60)
    assert run.returncode == 1
    assert error == "restsure: stopped; go on with: restsure resume out\n"
    assert "interrupted" in out
    done = subprocess.run([*command, "resume", "out"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "60 of 60 training steps over 2 candidates" in done.stdout
    assert findings(tmp_path / "out") == []


def test_in_another_thread_nothing_is_touched(tmp_path: Path) -> None:
    found = list[Any]()
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=lambda: found.append(outcome(train("plain", tmp_path / "run"))))
    thread.start()
    thread.join()
    assert found == [outcome(train("plain", None))]
    assert before == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))


def test_handlers_of_others_are_left_alone(tmp_path: Path) -> None:
    came = list[int]()
    before = signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    try:
        train(
            "plain", tmp_path, callbacks=[lambda moment: os.kill(os.getpid(), signal.SIGTERM) if moment.over else None]
        )
    finally:
        signal.signal(signal.SIGTERM, before)
    assert came == [signal.SIGTERM]
