"""What a learner in a process of its own does wrong is one line in its outcome, and harms no other candidate."""

import errno
import os
import re
from functools import partial

import pytest

from restsure.errors import LearnerFailed
from restsure.training.executors import ProcessExecutor
from restsure.training.meter import Meter
from tests.training import learners
from tests.training.learners import Counter, Doing, SavesBadly, SetUp

STEPS = Meter(100, "training steps")
DIED = "the process of this candidate died: "
BOUNDED = ProcessExecutor(pull_timeout_s=20)  # a test that fails must not hang


BAD = {
    learners.segfault: DIED + r"signal 11 \(SIGSEGV\)",
    os.abort: DIED + r"signal 6 \(SIGABRT\)",
    learners.kill_itself: DIED + r"signal 9 \(SIGKILL\)",
    learners.exit_at_once: DIED + "exit code 3",
    learners.leave: "SystemExit: 4",
    learners.leave_in_words: "SystemExit: that is all",
    learners.leave_with_a_thread_that_does_not_end: "SystemExit: 5",
    learners.close_everything: DIED + ".*",
    learners.recurse: "RecursionError: maximum recursion depth exceeded",
    learners.interrupt: "KeyboardInterrupt:",
    learners.raise_lines: r"ValueError: one two( three)+( th?r?e?e?)? \.\.\.",
    learners.raise_unprintable: "Unprintable: its text cannot be shown",
    learners.huge: "losses: must be 1 numbers, but are 83,886,[0-9]{3} bytes",
    learners.unsendable: r"what it gives back cannot be sent \(TypeError: cannot pickle 'generator' object\)",
}


def test_bad_learners_fail_alone(capfd) -> None:
    """All of them beside one that is good, and goes on after each."""
    good = len(BAD)
    crew = BOUNDED.open([*map(Doing, BAD), Counter()], STEPS)
    try:
        for arm, (deed, error) in enumerate(BAD.items()):
            crew.submit(arm, 1)
            crew.submit(good, 2)
            outcome, beside = crew.collect(arm), crew.collect(good)
            assert re.fullmatch(error, outcome.error), (deed, outcome.error)
            assert (outcome.losses, outcome.cost) == (None, None)
            assert (beside.losses, beside.error) == ([1 / (2 * arm + 1), 1 / (2 * arm + 2)], None)
            if error.startswith(DIED):  # it stays dead until it is renewed
                crew.submit(arm, 1)
                assert crew.collect(arm).error == outcome.error
                with pytest.raises(LearnerFailed, match=re.escape(outcome.error)):
                    crew.learner(arm)
                assert crew.renew(arm)
                assert crew.learner(arm).pulls == 0
        assert crew.learner(good).pulls == 2 * good
    finally:
        crew.close()
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("deed", [learners.hang, learners.deadlock, learners.hold_the_interpreter])
def test_a_learner_that_hangs_is_stopped(deed) -> None:
    crew = ProcessExecutor(pull_timeout_s=0.2).open([Doing(deed), Counter()], Meter(10, "seconds"))
    try:
        crew.submit(1, 99)
        assert crew.collect(1).losses[-1] == 1 / 99
        crew.submit(0, 3)
        outcome = crew.collect(0)
        rule = r"the process of this candidate was stopped after 0\.\d+ s: 3 pulls may take 0\.6 s \(pull_timeout_s\)"
        assert re.fullmatch(rule, outcome.error), outcome.error
        assert outcome.cost == outcome.seconds > 0.6
        crew.submit(0, 1)
        again = crew.collect(0)
        assert again.error == outcome.error
        assert again.cost < outcome.cost  # nothing was done for it
        crew.submit(1, 99)
        assert crew.collect(1).losses[0] == 1 / 100
    finally:
        crew.close()


def test_a_learner_over_its_time_is_stopped_while_another_is_waited_for(tmp_path) -> None:
    """Nobody collects it meanwhile, but it must not keep a core for itself."""
    pids = tmp_path / "pids"
    crew = ProcessExecutor(pull_timeout_s=1).open(
        [Doing(partial(learners.tell_pids, str(pids))), Doing(learners.nap)], STEPS
    )
    try:
        crew.submit(0, 1)
        crew.submit(1, 9)  # it takes as long as one
        assert crew.collect(1).error is None
        assert learners.wait_for(pids.exists)
        crew.submit(1, 9)
        assert crew.collect(1).error is None
        assert all(learners.gone(int(pid)) for pid in pids.read_text().split())
        assert "was stopped after 1" in crew.collect(0).error
    finally:
        crew.close()


def test_starting_does_not_count_as_a_pull() -> None:
    crew = ProcessExecutor(pull_timeout_s=1).open([SetUp(learners.nap)], STEPS)
    try:
        crew.submit(0, 1)
        assert crew.collect(0).losses == [1.0]
    finally:
        crew.close()


@pytest.mark.parametrize(
    ("deed", "error"),
    [
        (learners.hang, r"the process of this candidate was stopped after [\d.]+ s: it may take 2 s to start"),
        (learners.raise_plain_os_error, r"could not be set up in its process \(OSError: no number\)"),
        (learners.segfault, r"the process of this candidate died while starting: signal 11 \(SIGSEGV\)"),
        (learners.leave, r"could not be set up in its process \(SystemExit: 4\)"),
    ],
)
def test_a_learner_that_cannot_be_set_up(deed, error, monkeypatch) -> None:
    if deed is learners.hang:
        monkeypatch.setattr("restsure.training.executors.hand.START_LIMIT_S", 2)
    crew = BOUNDED.open([SetUp(deed), Counter()], STEPS)
    try:
        crew.submit(0, 1)
        outcome = crew.collect(0)
        assert re.fullmatch(error, outcome.error), outcome.error
        with pytest.raises(LearnerFailed, match=error):
            crew.learner(0)
    finally:
        crew.close()


@pytest.mark.parametrize("deed", [learners.leak, learners.ask_for_a_terabyte])
def test_a_learner_that_leaks_is_refused_memory(deed) -> None:
    crew = ProcessExecutor(pull_timeout_s=20, memory_limit="64MB").open(
        [Doing(deed), Doing(learners.take_30_megabytes)], STEPS
    )
    try:
        for arm in (0, 1, 1, 1):
            crew.submit(arm, 1)
            outcome = crew.collect(arm)
            if arm:
                assert outcome.error is None
            else:
                assert re.fullmatch(r"MemoryError:.* \(memory_limit='64MB'\)", outcome.error), outcome.error
                assert "Traceback" in outcome.traceback
    finally:
        crew.close()


@pytest.mark.parametrize(
    ("then", "error"),
    [
        (learners.exit_at_once, DIED + "exit code 3"),  # seen at once, though others have its end of the pipe
        (learners.hang, "the process of this candidate was stopped after 2.*"),
        (learners.text, "None"),
    ],
)
def test_processes_that_a_learner_has_started_go_with_it(then, error, tmp_path) -> None:
    """Be it that it dies, is stopped, or is no longer needed."""
    pids = tmp_path / "pids"
    deed = partial(learners.fork_a_sleeper, str(pids), then)
    crew = ProcessExecutor(pull_timeout_s=2 if then is learners.hang else 20).open([Doing(deed)], STEPS)
    try:
        crew.submit(0, 1)
        assert re.fullmatch(error, str(crew.collect(0).error))
    finally:
        crew.close()
    numbers = [int(pid) for pid in pids.read_text().split()]
    assert len(numbers) == 2
    assert learners.wait_for(lambda: all(map(learners.gone, numbers)))


def test_noise_closed_descriptors_and_another_directory_do_no_harm(tmp_path, capfd, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    deeds = (learners.make_noise, learners.go_elsewhere, learners.close_descriptors)
    crew = BOUNDED.open([Doing(deed) for deed in deeds], STEPS)
    try:
        for arm in range(3):
            crew.submit(arm, 2)
            outcome = crew.collect(arm)
            assert (outcome.losses, outcome.error) == ([1.0, 0.5], None)
            (tmp_path / str(arm)).mkdir()
            crew.save(arm, tmp_path / str(arm))
            assert (tmp_path / str(arm) / "pulls").read_text() == "2"
            crew.load(arm, type(tmp_path)(str(arm)))
            assert crew.learner(arm).pulls == 2
    finally:
        crew.close()
    out = capfd.readouterr().out
    assert sorted(out.split("\n")) == ["", "noise of another process", "noise on descriptor 1", "noise on stdout"]


def test_wrong_answers_pass_through_as_they_are() -> None:
    """Whoever asked for losses judges them."""
    odd = [Doing(learners.text), learners.Silent(), Doing(learners.nan), Doing(learners.too_many)]
    crew = BOUNDED.open(odd, STEPS)
    try:
        for arm, losses in enumerate(["'no losses'", "None", "[nan]", str([0.5] * 100)]):
            crew.submit(arm, 1)
            outcome = crew.collect(arm)
            assert (repr(outcome.losses), outcome.error) == (losses, None)
    finally:
        crew.close()


def test_a_full_disk_stays_one_and_other_errors_name_themselves(tmp_path) -> None:
    deeds = (learners.run_out_of_disk, learners.raise_plain_os_error, learners.raise_unprintable, learners.exit_at_once)
    crew = BOUNDED.open([SavesBadly(deed) for deed in deeds], STEPS)
    try:
        for use in (crew.save, crew.load):
            with pytest.raises(OSError, match="No space left on device: 'somewhere'") as full:
                use(0, tmp_path)
            assert full.value.errno == errno.ENOSPC
            with pytest.raises(OSError, match="^no number$"):
                use(1, tmp_path)
            with pytest.raises(LearnerFailed, match="^Unprintable: its text cannot be shown$"):
                use(2, tmp_path)
        crew.submit(0, 1)
        assert crew.collect(0).losses == [1.0]  # what failed was the saving, not the learner
        for use in (crew.save, crew.load):
            with pytest.raises(LearnerFailed, match=DIED + "exit code 3"):
                use(3, tmp_path)
    finally:
        crew.close()


def test_saving_has_a_limit_too(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("restsure.training.executors.processes._STATE_LIMIT_S", 0.3)
    crew = ProcessExecutor().open([SavesBadly(learners.hang)], STEPS)
    try:
        with pytest.raises(LearnerFailed, match=r"was stopped after 0\.\d+ s: saving may take 0\.3 s"):
            crew.save(0, tmp_path)
    finally:
        crew.close()
