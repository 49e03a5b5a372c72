"""The report and the dashboard in a real browser; what it shows is kept in ``test-output/``."""

import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

import restsure as rs
from restsure.report import save_report
from tests.report.runs import HOSTILE, Curve, Gate, curves, hostile, recorded
from tests.report.servers import Dashboard, dashboard, eventually, start_run

PICTURES = Path(__file__).parents[2] / "test-output"
CHROMIUM = "/usr/bin/chromium"  # the system's own: see the Makefile
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
OPTIONS += ["--disable-sync", "--no-first-run"]
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1280, "height": 900}
GONE = re.compile(r"net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING)")

COLOURS = """[
    getComputedStyle(document.documentElement).backgroundColor,
    getComputedStyle(document.querySelector('.xtick text')).fill,
]"""  # of the paper, and of what is written on it by plotly

FITS = """[...document.querySelectorAll('.plot')].filter((plot) => plot.clientWidth)
    .every((plot) => Math.abs(plot._fullLayout?.width - plot.clientWidth) < 2)"""  # all that can be seen

expect.set_options(timeout=60_000)


@pytest.fixture(scope="module")
def browser():
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


class Window:
    """A page, and whatever its console complained of or it asked others for."""

    def __init__(self, browser: Browser, *, scripts: bool = True, **more):
        options = {"viewport": DESK, "color_scheme": "light", "java_script_enabled": scripts} | more
        self.context = browser.new_context(**options)
        self.page: Page = self.context.new_page()
        self.errors, self.asked = [], set()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.asked.add(re.match(r"\w+:(//[^/?]*)?", request.url)[0]))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def picture(self, name: str) -> None:
        self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)

    def sideways(self) -> int:
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.fixture
def window(browser):
    opened = []

    def open_window(**more) -> Window:
        opened.append(Window(browser, **more))
        return opened[-1]

    yield open_window
    for each in opened:
        each.context.close()


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    recorded(folder / "names", candidates=hostile() | {"broken": Curve(0.1, fails_at=9)}, budget=600)
    recorded(folder / "forty", candidates=curves(40), budget=3_000)
    recorded(folder / "three", candidates=curves(3), budget=900)
    return folder


@pytest.fixture(scope="module")
def server(runs, tmp_path_factory):
    with dashboard(runs, tmp_path_factory.mktemp("state")) as server:
        yield server


def drawn(page: Page) -> None:
    """All four plots are there."""
    for plot in ("curves", "ribbon", "what-if"):
        expect(page.locator(f"#plot-{plot} .main-svg").first).to_be_visible()


def row(page: Page, name: str):
    return page.locator("#table tbody tr").filter(has=page.locator("bdi", has_text=re.compile(f"^{re.escape(name)}$")))


def test_a_run_in_progress_to_its_end_and_through_a_restart(window, tmp_path) -> None:
    """Eliminated live, slider, filter, another run, reload, the end, a server that goes and comes back."""
    runs, state = tmp_path / "runs", tmp_path / "state"
    recorded(runs / "before", candidates=curves(3))
    gate = Gate(tmp_path / "gate")
    gate.allow(100)
    run = start_run(runs / "live", gate, budget=420)
    try:
        eventually((runs / "live" / "journal.sqlite").exists)
        seen = window()
        page = seen.page
        with dashboard(runs, state) as server:
            page.goto(f"{server.url}&run=live")
            assert "token" not in page.url
            expect(page.locator("#state")).to_have_text("running")
            expect(page.locator("#left")).to_contain_text("to go")
            expect(row(page, "model 3").locator(".state")).to_have_text("active")
            gate.allow(300)
            expect(row(page, "broken").locator(".state")).to_have_text("failed")
            expect(row(page, "model 3").locator(".state")).to_have_text("given up")
            assert run.poll() is None  # it was seen while the run went on
            drawn(page)
            seen.picture("dashboard-mid-run")

            before = page.locator("#what-if").inner_text()
            page.locator("#budget").focus()
            page.keyboard.press("Home")
            expect(page.locator("#what-if")).not_to_have_text(before)

            page.locator("#kind").select_option("given up")
            expect(page.locator("#log tbody tr .state").first).to_have_text("given up")
            kinds = page.locator("#log tbody tr .state").all_inner_texts()
            assert set(kinds) == {"given up"}
            page.locator("#words").fill("nothing says this")
            expect(page.locator("#log tbody tr")).to_have_count(0)
            page.locator("#words").fill("")

            page.locator("#runs a", has_text="before").click()
            expect(page.locator("#title")).to_have_text("before")
            expect(page.locator("#state")).to_have_text("over")
            page.go_back()
            expect(page.locator("#title")).to_have_text("live")
            page.reload()
            expect(page.locator("#title")).to_have_text("live")
            expect(page.locator("#state")).to_have_text("running")

            gate.allow(1_000_000)
            expect(page.locator("#state")).to_have_text("over")
            assert run.wait(60) == 0
            expect(row(page, rs.read_run(runs / "live").result.name).locator(".state")).to_have_text("winner")
            expect(page.locator("#gauge")).to_be_hidden()
            seen.picture("dashboard-over")
            assert seen.errors == []
            assert server.stop(signal.SIGTERM) == (0, "")
        expect(page.locator("#link")).to_contain_text("Connection lost")
        expect(page.locator("#table tbody tr")).to_have_count(5)  # what was seen stays
        with dashboard(runs, state, port=server.port):
            expect(page.locator("#link")).to_have_text("live")
            expect(page.locator("#state")).to_have_text("over")
        with dashboard(runs, state, "--new-token", port=server.port):
            expect(page.locator("#link")).to_contain_text("another token")
        assert [error for error in seen.errors if not GONE.search(error) and "401" not in error] == []
        assert seen.asked <= {f"http://127.0.0.1:{server.port}", "data:"}
    finally:
        run.kill()
        run.wait()


def test_a_run_that_is_stopped_and_resumed(window, tmp_path) -> None:
    runs = tmp_path / "runs"
    gate = Gate(tmp_path / "gate")
    gate.allow(250)
    run = start_run(runs / "live", gate, budget=600)
    try:
        eventually((runs / "live" / "journal.sqlite").exists)
        seen = window()
        with dashboard(runs, tmp_path) as server:
            seen.page.goto(server.url)
            expect(seen.page.locator("#state")).to_have_text("running")
            expect(row(seen.page, "broken").locator(".state")).to_have_text("failed")
            run.send_signal(signal.SIGINT)
            run.wait(60)
            expect(seen.page.locator("#state")).to_have_text("stopped")
            gate.allow(1_000_000)
            run = start_run(runs / "live", gate, budget=600)
            expect(seen.page.locator("#log .state", has_text="resumed")).to_have_count(1)
            expect(seen.page.locator("#state")).to_have_text("over")
            assert seen.errors == []
    finally:
        run.kill()
        run.wait()


def test_damage_is_said_in_the_page(window, tmp_path) -> None:
    recorded(tmp_path / "run", budget=60)
    seen = window()
    with dashboard(tmp_path, tmp_path) as server:
        seen.page.goto(server.url)
        expect(seen.page.locator("#state")).to_have_text("over")
        journal = tmp_path / "run" / "journal.sqlite"
        journal.write_bytes(b"x" * 5_000)
        expect(seen.page.locator("#trouble")).to_contain_text("damaged")
        expect(seen.page.locator("#state")).to_have_text("cannot be read")
        seen.picture("dashboard-damaged")
        seen.page.emulate_media(color_scheme="dark")  # shown again, it says the same
        expect(seen.page.locator("#state")).to_have_text("cannot be read")
        assert seen.errors == []


def check_names(seen: Window) -> None:
    page = seen.page
    expect(page.locator("#table tbody tr")).to_have_count(len(HOSTILE) + 1)
    shown = page.locator("#table tbody th bdi").evaluate_all("found => found.map(each => each.textContent)")
    for kind, name in HOSTILE.items():
        assert (name.replace("\ud800", "?")) in shown, kind
    assert "owned" not in page.title()
    assert page.locator("main img, main table b, main script").count() == 0
    assert page.locator("#plot-ribbon").inner_text().count("<script>") == 1
    assert seen.sideways() == 0
    assert seen.errors == []


def test_hostile_names_are_text_in_the_page(window, server: Dashboard) -> None:
    for name, size in (("desk", DESK), ("phone", PHONE)):
        seen = window(viewport=size)
        seen.page.goto(f"{server.url}&run=names")
        expect(seen.page.locator("#state")).to_have_text("over")
        drawn(seen.page)
        check_names(seen)
        seen.picture(f"dashboard-names-{name}")


def test_hostile_names_are_text_in_the_report(window, runs, tmp_path) -> None:
    path = save_report(tmp_path / "report.html", rs.read_run(runs / "names"))
    for name, size in (("desk", DESK), ("phone", PHONE)):
        seen = window(viewport=size, offline=True)
        seen.page.goto(path.as_uri())
        drawn(seen.page)
        check_names(seen)
        seen.picture(f"report-names-{name}")
        assert seen.asked <= {"file://", "data:"}


@pytest.mark.parametrize(("kind", "run"), [("dashboard", "three"), ("report", "three"), ("dashboard", "forty")])
def test_both_colour_schemes_at_desk_and_phone(window, server: Dashboard, runs, tmp_path, kind: str, run: str) -> None:
    report = save_report(tmp_path / "report.html", rs.read_run(runs / run)).as_uri()
    seen = window()
    seen.page.goto(report if kind == "report" else f"{server.url}&run={run}")
    drawn(seen.page)
    for scheme in ("light", "dark"):
        for size in (DESK, PHONE):
            seen.page.set_viewport_size(size)
            seen.page.emulate_media(color_scheme=scheme)
            eventually(
                lambda: seen.page.evaluate(FITS) and seen.sideways() == 0
            )  # plots follow their place a moment later
            colours = seen.page.evaluate(COLOURS)
            bright = [sum(map(int, re.findall(r"\d+", colour)[:3])) > 380 for colour in colours]
            assert bright == ([True, False] if scheme == "light" else [False, True])
            assert seen.errors == []
            seen.picture(f"{kind}-{run}-{scheme}-{size['width']}")


def test_everything_can_be_done_by_keyboard(window, server: Dashboard) -> None:
    seen = window()
    page = seen.page
    page.goto(f"{server.url}&run=forty")
    expect(page.locator("#table tbody tr")).to_have_count(40)
    drawn(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.run") is not None
    reached = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "document.activeElement.id || document.activeElement.className || document.activeElement.dataset.sort"
            )
        )
    assert {"budget", "swatch", "2", "kind", "words", "save"} <= reached
    page.locator("[data-sort='2']").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    steps = [int(text.replace(",", "")) for text in page.locator("#table tbody td:nth-child(3)").all_inner_texts()]
    assert steps == sorted(steps, reverse=True)
    grey = page.locator("[data-pin]").last
    arm = grey.get_attribute("data-pin")
    grey.focus()
    page.keyboard.press("Space")
    expect(page.locator(f"[data-pin='{arm}']")).to_have_attribute("aria-pressed", "true")
    assert page.evaluate("document.activeElement.dataset.pin") == arm
    page.locator("#runs a", has_text="three").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#title")).to_have_text("three")
    assert seen.errors == []


def test_a_report_without_javascript_and_on_paper(window, runs, tmp_path) -> None:
    run = rs.read_run(runs / "three")
    path = save_report(tmp_path / "report.html", run)
    bare = window(scripts=False)
    bare.page.goto(path.as_uri())
    expect(bare.page.locator("#sentence")).to_contain_text(run.result.name)
    expect(bare.page.locator("#table tbody tr")).to_have_count(3)
    expect(bare.page.locator(".plot").first).to_be_hidden()
    bare.picture("report-without-javascript")
    seen = window(color_scheme="dark")
    seen.page.goto(path.as_uri())
    drawn(seen.page)
    seen.page.emulate_media(media="print")
    expect(seen.page.locator("#filter")).to_be_hidden()
    seen.page.wait_for_function("getComputedStyle(document.querySelector('.xtick text')).fill === 'rgb(0, 0, 0)'")
    assert seen.page.locator("#plot-curves .main-svg").first.bounding_box()["width"] < 700  # a page of paper
    seen.picture("report-print")
    assert len(seen.page.pdf(path=PICTURES / "report-print.pdf", format="A4")) > 10_000
    assert seen.errors == []


def test_without_a_token_there_is_one_line_that_says_what_to_do(window, server: Dashboard) -> None:
    seen = window()
    seen.page.goto(server.url.partition("?")[0])
    assert "Open the address" in seen.page.inner_text("body")
