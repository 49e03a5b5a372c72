"""What a dashboard costs: a run followed by fifty, the page of a run of a million steps, and the memory of the server.

python benchmarks/dashboard.py [--csv benchmarks/results/dashboard.csv] [--steps 1000000] [--rounds 3]

Everything runs as it does for a user: the run, the server and the followers are processes of their own, over real sockets; the
page is opened in Chromium. Run with and without followers in turn; the machine should have a core for each of them.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

import restsure as rs
from restsure.journal import Journal
from restsure.report.rows import write_rows

HEAD = ("what", "figure", "unit")
CHROMIUM = "/usr/bin/chromium"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
OPTIONS += ["--disable-sync", "--no-first-run"]
MARKS = """new MutationObserver(() => {
    if (!window.rows_ms && document.querySelector("#table tbody tr")) window.rows_ms = Date.now();
    if (!window.plots_ms && document.querySelector("#plot-ribbon .main-svg")) window.plots_ms = Date.now();
}).observe(document, { subtree: true, childList: true });"""  # when the page has shown what
FOLLOWED = 100_000  # steps of the run that is followed

Rows = list[tuple[str, float, str]]


class Falling:
    """A candidate with a known curve; ``work``: sums of that many numbers a step, to take its time."""

    def __init__(self, alpha: float, beta: float, seed: int, work: int = 0):
        self.alpha, self.beta, self.pulls, self.rng = alpha, beta, 0, np.random.default_rng(seed)
        self.load = np.ones(work)

    def train(self, times: int) -> list[float]:
        for _ in range(times if len(self.load) else 0):
            self.load.sum()
        self.pulls += times
        steps = np.arange(self.pulls - times + 1, self.pulls + 1)
        losses: list[float] = (self.alpha / steps**0.5 + self.beta + self.rng.normal(scale=0.05, size=times)).tolist()
        return losses


def run(folder: str, steps: int, count: int, work: int) -> None:
    rng = np.random.default_rng(0)
    make = rng.uniform((0.2, 0.05), (1.0, 0.4), size=(count, 2)).tolist()
    models = {f"model {k}": Falling(alpha, beta, k, work) for k, (alpha, beta) in enumerate(make)}
    times, append = list[float](), Journal.append

    def timed(book: Journal, *arguments: Any) -> None:
        began = time.perf_counter()
        append(book, *arguments)
        times.append(time.perf_counter() - began)

    Journal.append = timed  # type: ignore[method-assign]
    began = time.perf_counter()
    rs.select(models, budget=steps, run_dir=folder, progress=False, random_state=0)
    print(json.dumps([time.perf_counter() - began, time.process_time(), median(times)]))


def start(*arguments: Any) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def cpu_s(process: subprocess.Popen[str]) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mb(process: subprocess.Popen[str]) -> float:
    """The most memory that it ever had."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1_000


class Server:
    """``restsure dashboard`` of a folder."""

    def __init__(self, folder: str):
        self.process = start("-m", "restsure", "dashboard", folder, "--no-open", "--port", "0")
        assert self.process.stdout is not None
        found = re.search(r"(http://\S+:(\d+)/)\?token=(\S+)", self.process.stdout.readline())
        assert found is not None
        self.url, self.port, self.token = found[0], int(found[2]), found[3]

    def request(self, path: str) -> bytes:
        return (
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode()
        )


@contextmanager
def serving(folder: str) -> Iterator[Server]:
    server = Server(folder)
    try:
        yield server
    finally:
        server.process.terminate()
        server.process.wait()


async def follow(server: Server, delays: list[float], until: Callable[[], bool]) -> None:
    """Read events as they come; how long after its last record each of them arrived."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 24)
    writer.write(server.request("/runs/run/events"))
    first = True
    try:
        while not until():
            line = await asyncio.wait_for(reader.readline(), 30)
            if found := re.search(rb'"state":"running".*?"last_s":([\d.]+)', line):
                if not first:  # the first tells what was before
                    delays.append(time.time() - float(found[1]))
                first = False
    except TimeoutError:
        pass
    finally:
        writer.close()


def followed(rounds: int, followers: int) -> Rows:
    """A run of CPU-bound candidates, alone and looked at by many, in turn."""
    alone, watched, delays, cpu, memory = [], [], list[float](), [], []

    def once(folder: str) -> subprocess.Popen[str]:
        return start(__file__, "--run", Path(folder) / "run", "--steps", FOLLOWED, "--work", 100_000)

    def told(process: subprocess.Popen[str]) -> list[float]:
        """Seconds, processor seconds, and the median time of a record."""
        numbers: list[float] = json.loads(process.communicate()[0])
        return numbers

    async def watch(server: Server, process: subprocess.Popen[str]) -> None:
        tasks = [
            asyncio.create_task(follow(server, delays, lambda: process.poll() is not None)) for _ in range(followers)
        ]
        while process.poll() is None:
            await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            alone.append(told(once(folder)))
        with tempfile.TemporaryDirectory() as folder, serving(folder) as server:
            before, process = cpu_s(server.process), once(folder)
            while not (Path(folder) / "run" / "journal.sqlite").exists():
                time.sleep(0.01)
            asyncio.run(watch(server, process))
            cpu.append(cpu_s(server.process) - before)
            watched.append(told(process))
            cpu[-1] /= watched[-1][0]
            memory.append(peak_mb(server.process))
    what = f"{followers} followers of a run of {FOLLOWED:,} steps"
    (wall, busy, record), (wall_alone, busy_alone, record_alone) = (
        [median(column) for column in zip(*rows, strict=True)] for rows in (watched, alone)
    )
    return [
        (f"{what}: from a record to a follower, median", median(delays), "s"),
        (f"{what}: from a record to a follower, 99 in 100", quantiles(delays, n=100)[-1], "s"),
        (f"{what}: time of the run", wall, "s"),
        ("the same run, nobody looking: time of the run", wall_alone, "s"),
        (f"{what}: processor time of the run over that of nobody looking", busy / busy_alone, "ratio"),
        (f"{what}: time of a record, median", 1e6 * record, "microseconds"),
        ("the same run, nobody looking: time of a record, median", 1e6 * record_alone, "microseconds"),
        (f"{what}: a core that the server uses", 100 * median(cpu), "%"),
        (f"{what}: most memory of the server", max(memory), "MB"),
    ]


def long_page(steps: int, count: int) -> Rows:
    """The page of a run that is over, by a server that has not read it yet."""
    rows: Rows = []
    what = f"a run of {steps:,} steps of {count} candidates"
    with tempfile.TemporaryDirectory() as folder:
        start(__file__, "--run", Path(folder) / "run", "--steps", steps, "--count", count).wait()
        with serving(folder) as server:
            rows += asyncio.run(first_data(server, what))
            rows.append((f"{what}: most memory of the server", peak_mb(server.process), "MB"))
        with serving(folder) as server, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
            page = browser.new_page()
            page.add_init_script(MARKS)
            page.goto("about:blank")
            began = time.time()
            page.goto(f"{server.url}&run=run", wait_until="commit")
            page.wait_for_selector("#plot-ribbon .main-svg")
            shown = page.evaluate("[rows_ms, plots_ms]")
            for name, at_ms in zip(("outcome and tables", "plots"), shown, strict=True):
                rows.append((f"{what}: page opened to {name}", at_ms / 1_000 - began, "s"))
            browser.close()
    return rows


async def first_data(server: Server, what: str) -> Rows:
    began, before = time.perf_counter(), cpu_s(server.process)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 26)
    writer.write(server.request("/runs/run/events"))
    rows: Rows = []
    while line := await reader.readline():
        seconds = time.perf_counter() - began
        if b'"curves/0"' in line and not rows:
            rows.append((f"{what}: first whole data from the server", seconds, "s"))
            rows.append((f"{what}: processor time of the server for it", cpu_s(server.process) - before, "s"))
            rows.append((f"{what}: bytes of it", len(line) / 1_000, "kB"))
        if rows and (found := re.search(rb'"spent":([\d.]+),"believed":([\d.]+)', line)) and found[1] == found[2]:
            rows.append((f"{what}: all predictions from the server", seconds, "s"))
            rows.append((f"{what}: processor time of the server for them", cpu_s(server.process) - before, "s"))
            break
    writer.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--followers", type=int, default=50)
    for hidden in ("--run", "--count", "--work"):
        parser.add_argument(hidden, type=str if hidden == "--run" else int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run(options.run, options.steps, options.count or 8, options.work or 0)
        return
    rows = [*long_page(options.steps, 8), *long_page(options.steps, 40), *followed(options.rounds, options.followers)]
    for what, figure, unit in rows:
        print(f"{what:95} {figure:10.4g} {unit}")
    if options.csv:
        command = "python benchmarks/dashboard.py --csv benchmarks/results/dashboard.csv"
        write_rows(options.csv, HEAD, [(what, f"{figure:.4g}", unit) for what, figure, unit in rows], command=command)


if __name__ == "__main__":
    main()
