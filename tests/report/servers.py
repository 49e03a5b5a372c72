"""A real server in a process of its own, and real runs in others."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.report.runs import Gate

ROOT = Path(__file__).parents[2]
HELD_RUN = """
import sys
import restsure as rs
from pathlib import Path
from tests.report.runs import Curve, Gate, curves

gate = Gate(Path(sys.argv[3]))
candidates = curves(4, wait=gate) | {"broken": Curve(0.1, wait=gate, fails_at=6)}
policy = rs.SuccessiveHalving()
rs.select(candidates, budget=int(sys.argv[2]), run_dir=sys.argv[1], policy=policy, progress=False, random_state=0)
"""


def environment(state: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "XDG_STATE_HOME": str(state)}


def start_run(directory: Path, gate: Gate, *, budget: int) -> subprocess.Popen[bytes]:
    """A run in a process of its own, which goes on as far as the gate allows."""
    command = [sys.executable, "-c", HELD_RUN, str(directory), str(budget), str(gate.file)]
    return subprocess.Popen(command, cwd=ROOT, env=environment(directory.parent))


class Dashboard:
    """``restsure dashboard``, as a user starts it."""

    def __init__(self, folder: Path, state: Path, *options: str, port: int = 0):
        command = [
            sys.executable,
            "-m",
            "restsure",
            "dashboard",
            str(folder),
            "--no-open",
            "--port",
            str(port),
            *options,
        ]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment(state), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        if not (found := re.search(r"http://(\S+):(\d+)/\?token=(\S+)", line)):
            raise AssertionError(line + self.process.stderr.read())
        self.host, self.port, self.token = found[1], int(found[2]), found[3]
        self.url = found[0]

    @property
    def cookie(self) -> str:
        return f"restsure_{self.port}={self.token}"

    def ask(
        self, path: str, *, method: str = "GET", host: str | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer; of events, what comes at first."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True)
            connection.putheader("Host", f"{self.host}:{self.port}" if host is None else host)
            for name, value in (headers or {}).items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            fields = {name.lower(): value for name, value in answer.getheaders()}
            live = fields.get("content-type", "").startswith("text/event-stream") and method == "GET"
            return answer.status, fields, answer.readline() if live else answer.read()

    def let_in(self, path: str, **more: Any) -> tuple[int, dict[str, str], bytes]:
        return self.ask(path, headers={"Cookie": self.cookie} | more.pop("headers", {}), **more)

    def follow(self, run: str) -> Iterator[dict[str, Any]]:
        """Events of a run, from a connection of one's own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", f"/runs/{run}/events", headers={"Cookie": self.cookie})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        with contextlib.closing(connection):
            quiet = 0
            for line in answer:
                quiet = quiet + 1 if line.startswith(b":") else 0 if line.startswith(b"data: ") else quiet
                assert quiet < 4, "the server says that all is well, and nothing else"
                if line.startswith(b"data: "):
                    yield json.loads(line.removeprefix(b"data: "))

    def stop(self, how: int = signal.SIGINT) -> tuple[int, str]:
        """End it as Ctrl-C does; its exit code, and what it had to complain of."""
        self.process.send_signal(how)
        _, complaints = self.process.communicate(timeout=60)
        return self.process.returncode, complaints


@contextlib.contextmanager
def dashboard(folder: Path, state: Path, *options: str, port: int = 0) -> Iterator[Dashboard]:
    server = Dashboard(folder, state, *options, port=port)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate()


def eventually(look: Callable[[], Any], *, tries: int = 1_200) -> Any:
    """What ``look`` gives as soon as that is something; a last look fails as it will."""
    for _ in range(tries):
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come")
