"""Two processes on one run: one wins, the other is told so, and the run is the winner's."""

import json
import subprocess
import sys
from pathlib import Path

from restsure.journal import Journal, read_records
from restsure.training import findings
from tests.faults import MORE

CODE = """
import json, random, sys, time
from pathlib import Path
from restsure.errors import RunInUse
from restsure.journal import Journal
me, rounds, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
rng, won, written = random.Random(me), [], 0
for k in range(rounds):
    (folder / f"{k}.{me}").touch()
    while not all((folder / f"{k}.{who}").exists() for who in "ab"):
        time.sleep(0.0005)
    time.sleep(rng.choice((0, 0, 0.001, 0.003)))
    try:
        with Journal(folder / f"run{k}") as journal:
            if not journal.records:
                journal.begin({"by": me})
            for n in range(5):
                journal.append("block", {"by": me, "n": n})
                written += 1
            if k % 2:
                time.sleep(2.2)
            won.append(k)
    except RunInUse:
        pass
print(json.dumps({"won": won, "written": written}))
"""


def test_fifty_races(tmp_path: Path) -> None:
    """In each, both come to write, one after the other, or one is refused; every record of both is there, in order."""
    rounds = 50 * MORE
    code = CODE.replace("time.sleep(2.2)", "time.sleep(2.2 if k % 10 == 1 else 0.002)")
    racers = [
        subprocess.Popen([sys.executable, "-c", code, who, str(rounds), tmp_path], stdout=subprocess.PIPE, text=True)
        for who in "ab"
    ]
    told = [json.loads(racer.communicate()[0]) for racer in racers]
    refused = 0
    for k in range(rounds):
        winners = [who for who, each in zip("ab", told, strict=True) if k in each["won"]]
        refused += 2 - len(winners)
        assert winners
        records = read_records(tmp_path / f"run{k}")[1:]
        assert len(records) == 5 * len(winners)
        for at in range(0, len(records), 5):
            block = records[at : at + 5]
            assert len({(record.body["by"], record.epoch) for record in block}) == 1
            assert [record.body["n"] for record in block] == [0, 1, 2, 3, 4]
    print("races", rounds, "refused", refused)
    assert refused >= rounds // 10  # those in which the winner stays longer than the other waits


def test_a_run_in_use_is_refused_by_select_and_the_command_line(tmp_path: Path) -> None:
    with Journal(tmp_path / "run") as journal:
        journal.begin({"candidates": {}})
        done = subprocess.run(
            [sys.executable, "-m", "restsure", "resume", tmp_path / "run"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        code = "import sys, restsure as rs; rs.select({'a': iter([1.0] * 9)}, budget=3, run_dir=sys.argv[1], progress=False)"
        done = subprocess.run(
            [sys.executable, "-c", code, tmp_path / "run"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert "RunInUse: " in done.stderr.splitlines()[-1]
        assert "another process is writing to this run" in done.stderr.splitlines()[-1]
    assert findings(tmp_path / "run") != []
