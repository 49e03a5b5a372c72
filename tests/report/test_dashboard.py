"""The dashboard, over a real socket: who is let in, and what is served."""

import asyncio
import json
import shutil
import signal
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

import restsure as rs
from restsure.cli import main
from restsure.report.dashboard.access import allowed_hosts, own_token
from restsure.report.dashboard.followed import Board, Reader, parts_of
from restsure.report.dashboard.hub import Full, Hub
from restsure.report.dashboard.server import EventStream
from restsure.report.story import story_of
from tests.report.runs import Curve, Gate, curves, hostile, recorded
from tests.report.servers import Dashboard, dashboard, eventually, start_run

ROUTES = [
    "/",
    "/assets/page.css",
    "/assets/plotly.js",
    "/runs",
    "/runs/one/events",
    "/runs/one/story",
    "/runs/one/report",
]
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get"]
OUTSIDE = [
    "..", "%2e%2e", "%2e%2e%2f", "..%2fsecret", "%2e%2e%2fsecret", "..%5csecret", "%252e%252e%252fsecret", "%2fetc%2fpasswd",
    "one%2f..%2f..%2fsecret", "one%00", "%00", ".", "%2e", ".hidden", "link", "con", "one.", "~", "one%0d%0aset-cookie:%20a=b",
    "a" * 300, "..;", "%c0%ae%c0%ae%c0%af", "file:%2f%2f", "%uff0e%uff0e", "one%20", "%F0%9F%92%A3",
]  # fmt: skip


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def server(tmp_path_factory, state):
    folder = tmp_path_factory.mktemp("all")
    runs = folder / "runs"
    recorded(runs / "one", candidates=curves(3) | {"broken": Curve(0.1, fails_at=4)})
    recorded(runs / "names", candidates=hostile())
    recorded(folder / "secret")
    (runs / "link").symlink_to(folder / "secret")
    shutil.copytree(folder / "secret", runs / ".hidden")
    with dashboard(runs, state) as server:
        yield server


def leaks(body: bytes) -> bool:
    return b"model" in body or b"candidates" in body or b"root:" in body


# who is let in


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", ROUTES)
def test_every_route_by_every_method(server: Dashboard, path: str, method: str) -> None:
    allowed = method in ("GET", "HEAD")
    status, headers, body = server.ask(path, method=method)
    assert status == (401 if allowed else 405)
    assert not leaks(body)
    status, headers, body = server.let_in(path, method=method)
    assert status == (200 if allowed else 405)
    assert headers.get("allow") == (None if allowed else "GET, HEAD")
    assert bool(body) == (method != "HEAD")
    for name in ("content-security-policy", "x-content-type-options", "referrer-policy", "x-frame-options"):
        assert headers[name]
    assert "unsafe" not in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "server" not in headers
    assert headers["cache-control"] == ("no-cache" if path.startswith("/assets") and allowed else "no-store")


def wrong_tokens(token: str) -> list[str]:
    return ["", "x", token[:-1], token + "x", token.swapcase(), f" {token}x", "\xff" * 40, f"{token}%00", "a" * 5_000]


@pytest.mark.parametrize("which", range(9))
def test_a_wrong_token_is_refused_wherever_it_is(server: Dashboard, which: int) -> None:
    wrong = wrong_tokens(server.token)[which]
    quoted = "".join(f"%{byte:02x}" for byte in wrong.encode()) if "%00" not in wrong else wrong
    status, headers, _ = server.ask(f"/?token={quoted}")
    assert status == 401
    assert "set-cookie" not in headers
    for given in ({"Cookie": f"restsure_{server.port}={wrong}"}, {"Authorization": f"Bearer {wrong}"}):
        assert server.ask("/runs", headers=given)[0] == 401


def test_the_token_moves_from_the_address_to_a_cookie(server: Dashboard) -> None:
    status, headers, body = server.ask(f"/?token={server.token}&run=one")
    assert (status, headers["location"], body) == (303, "/?run=one", b"")
    cookie, *rules = headers["set-cookie"].split("; ")
    assert cookie == server.cookie
    assert set(rules) == {"Path=/", "HttpOnly", "SameSite=Strict"}
    assert server.ask("/runs", headers={"Cookie": f"other=1; {cookie}; more=2"})[0] == 200
    assert server.ask("/runs", headers={"Authorization": f"Bearer {server.token}"})[0] == 200


@pytest.mark.parametrize(
    "path", ["/runs?token={}", "//?token={}", "/assets/page.css?token={}", "/?token={}&token={}", "/?token=x&token={}"]
)
def test_the_token_counts_at_the_front_door_only_and_once(server: Dashboard, path: str) -> None:
    assert server.ask(path.replace("{}", server.token))[0] == 401


@pytest.mark.parametrize("run", ["//evil.example", "http://evil.example", "\r\nset-cookie: a=b", "/..", "\\\\evil"])
def test_the_way_in_leads_nowhere_else(server: Dashboard, run: str) -> None:
    quoted = "".join(f"%{byte:02x}" for byte in run.encode())
    status, headers, _ = server.ask(f"/?token={server.token}&run={quoted}")
    assert status == 303
    assert headers["location"].startswith("/?run=")
    assert headers["set-cookie"].startswith("restsure_")


@pytest.mark.parametrize("spelled", ["127.0.0.1:{}", "localhost:{}", "LOCALHOST:{}", "[::1]:{}"])
def test_this_machine_goes_by_several_names(server: Dashboard, spelled: str) -> None:
    assert server.let_in("/runs", host=spelled.format(server.port))[0] == 200


@pytest.mark.parametrize(
    "host",
    ["", "127.0.0.1", "localhost", "evil.example", "evil.example:{}", "localhost.evil.example:{}", "127.0.0.1.evil.example:{}",
     "127.0.0.1:1", "localhost:{}0", "user@127.0.0.1:{}", "0.0.0.0:{}", "[::]:{}", "127.1:{}", "2130706433:{}",
     "localhost.:{}"],
)  # fmt: skip
def test_another_host_is_refused_even_with_the_token(server: Dashboard, host: str) -> None:
    for path in ("/runs", f"/?token={server.token}"):
        status, headers, body = server.let_in(path, host=host.format(server.port))
        assert status in (400, 421)
        assert "set-cookie" not in headers
        assert not leaks(body)


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize(
    "path", ["/runs/{}/events", "/runs/{}/story", "/runs/{}/report", "/assets/{}", "/{}", "/runs/{}"]
)
def test_no_path_leads_out_of_the_folder(server: Dashboard, path: str, name: str) -> None:
    status, headers, body = server.let_in(path.replace("{}", name))
    assert status in (400, 404)
    assert not leaks(body)
    assert "set-cookie" not in headers


# what is served


def test_the_page_has_no_inline_script_and_nothing_from_elsewhere(server: Dashboard) -> None:
    page = server.let_in("/")[2].decode()
    assert "http://" not in page
    assert "https://" not in page
    assert " onclick" not in page
    assert page.count("<script ") == page.count("<script")
    assert server.token not in page


def test_assets_are_kept_by_the_browser_until_they_change(server: Dashboard) -> None:
    _, headers, _ = server.let_in("/assets/plotly.js")
    status, _, body = server.let_in("/assets/plotly.js", headers={"If-None-Match": headers["etag"]})
    assert (status, body) == (304, b"")


def test_the_list_has_every_run_that_can_be_shown(server: Dashboard) -> None:
    told = json.loads(server.let_in("/runs")[2])
    assert {run["name"]: run["state"] for run in told["runs"]} == {"one": "over", "names": "over"}
    assert told["hidden"] == 2  # a link, and one whose name begins with a dot


def test_what_is_served_is_the_story(server: Dashboard) -> None:
    served = json.loads(server.let_in("/runs/one/story")[2])
    first = next(server.follow("one"))
    assert first["whole"]
    for each in (served, first["parts"]):
        assert each["head"]["state"] == "over"
        assert each["trouble"] == ""
        assert [row["name"] for row in each["candidates"]] == ["model 0", "model 1", "model 2", "broken"]


def test_the_report_is_for_saving(server: Dashboard) -> None:
    _, headers, body = server.let_in("/runs/one/report")
    assert headers["content-disposition"] == 'attachment; filename="one.html"'
    assert body.startswith(b"<!doctype html>")


def test_many_followers_are_told_the_same(server: Dashboard) -> None:
    with ThreadPoolExecutor(40) as pool:
        seen = list(pool.map(lambda _: next(server.follow("one")), range(40)))
    assert all(each["parts"].keys() == seen[0]["parts"].keys() for each in seen)


# a run that goes on


def test_a_run_is_followed_to_its_end_and_beyond(tmp_path, state) -> None:
    gate = Gate(tmp_path / "gate")
    gate.allow(100)
    run = start_run(tmp_path / "live", gate, budget=150)
    try:
        eventually(lambda: (tmp_path / "live" / "journal.sqlite").exists())
        with dashboard(tmp_path, state) as server:
            spent, states, given_up = [], [], []
            for event in server.follow("live"):
                if "head" in event["parts"]:
                    spent.append(event["parts"]["head"]["spent"])
                    states.append(event["parts"]["head"]["state"])
                given_up += [row for row in event["parts"].get("candidates", ()) if row["state"] == "given up"]
                if given_up:
                    gate.allow(1_000_000)
                if states and states[-1] == "over":
                    break
            assert run.wait(60) == 0
            assert "running" in states
            assert spent == sorted(spent)
            assert spent[0] <= 100
            assert spent[-1] == 150
            served = json.loads(server.let_in("/runs/live/story")[2])
            assert served["head"]["sentence"] == str(rs.read_run(tmp_path / "live").result)
            assert server.stop() == (0, "")
    finally:
        run.kill()
        run.wait()


def test_damage_deletion_and_another_run_in_its_place_are_told(tmp_path, state) -> None:
    recorded(tmp_path / "run", budget=60)
    with dashboard(tmp_path / "run", state) as server:
        events = server.follow("run")
        assert next(events)["parts"]["head"]["state"] == "over"
        shutil.rmtree(tmp_path / "run")
        assert "must be a run directory" in next(
            event["parts"]["trouble"] for event in events if "trouble" in event["parts"]
        )
        recorded(tmp_path / "run", budget=80)
        again = next(event for event in events if event["parts"].get("head", {}).get("budget") == 80)
        assert again["parts"]["trouble"] == ""
        journal = tmp_path / "run" / "journal.sqlite"
        journal.write_bytes(journal.read_bytes()[:300] + b"x" * 5_000)
        assert next(event for event in events if "damaged" in event["parts"].get("trouble", ""))
        assert server.let_in("/runs")[0] == 200


def test_ctrl_c_and_sigterm_end_it_at_once_with_followers(tmp_path, state) -> None:
    recorded(tmp_path / "run", budget=60)
    for how in (signal.SIGINT, signal.SIGTERM):
        with dashboard(tmp_path, state) as server:
            followers = [server.follow("run") for _ in range(5)]
            for follower in followers:
                next(follower)
            assert server.stop(how) == (0, "")
            assert all(len(list(follower)) < 5 for follower in followers)  # each comes to an end


# parts


def test_only_what_changes_is_sent(tmp_path) -> None:
    story = story_of(recorded(tmp_path))
    board = Board()
    assert board.put(parts_of(story))
    assert not board.put(parts_of(story))
    whole = json.loads(board.since(0).removeprefix(b"data: "))
    assert whole["whole"]
    story["head"]["spent"] += 1
    story["log"].append(story["log"][-1])
    assert board.put(parts_of(story))
    change = json.loads(board.since(1).removeprefix(b"data: "))
    assert (change["whole"], set(change["parts"])) == (False, {"head", "log/0"})
    assert board.since(1) is board.since(1)  # made once for all


def test_a_reader_tells_the_story_and_then_nothing_until_something_happens(tmp_path) -> None:
    recorded(tmp_path / "run")
    reader, told = Reader(tmp_path / "run", "run"), []
    for _ in range(30):
        parts, _ = reader.step()
        told += [parts] if parts is not None else []
    story = story_of(rs.read_run(tmp_path / "run"))
    del story["explanation"]
    assert told[-1] == {"trouble": '""'} | parts_of(story)
    assert reader.step() == (None, False)


# where it listens


def test_names_of_the_server() -> None:
    assert allowed_hosts(["::1", "Box"], 80) == {"[::1]:80", "[::1]", "box:80", "box"}


def test_the_token_is_the_users_own(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    token, path = own_token(), tmp_path / "restsure" / "dashboard-token"
    assert len(token) >= 32
    assert own_token() == token == path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert own_token(new=True) != token
    kept = own_token()
    path.chmod(0o644)
    assert own_token() != kept  # others could have read it
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_text("x" * 40)
    assert own_token() != "x" * 40
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    assert own_token() != own_token()


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (["missing"], "must be a directory"),
        ([".", "--host", "0.0.0.0"], "must come with --allow-host"),
        ([".", "--host", "192.0.2.1"], "must be an address that is free here"),
        ([".", "--port", "99999"], "must be an address that is free here"),
    ],
)
def test_bad_input_is_one_line(tmp_path, monkeypatch, capsys, options, rule) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(SystemExit) as refused:
        main(["dashboard", *options, "--no-open"])
    assert refused.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert rule in line


def test_a_follower_that_takes_nothing_is_dropped_and_costs_no_other(tmp_path, monkeypatch) -> None:
    """It stops reading: what it has not taken is not kept for it, and after a while it is not a follower any more."""
    recorded(tmp_path / "run", budget=60)
    monkeypatch.setattr("restsure.report.dashboard.server._SLOW_S", 0.2)

    async def stuck(message) -> None:
        if message.get("more_body"):
            await asyncio.Event().wait()

    async def silent() -> dict:
        return await asyncio.Event().wait()

    async def look() -> tuple[int, int, int]:
        hub = Hub(tmp_path)
        hub.check("run")
        scope = {"type": "http", "method": "GET"}
        slow = [asyncio.create_task(EventStream(hub.events("run"))(scope, silent, stuck)) for _ in range(3)]
        other = hub.events("run")
        first = await anext(other)
        during = hub.followers
        await asyncio.wait_for(asyncio.gather(*slow), 30)
        after = hub.followers
        await other.aclose()
        hub.closing = True
        await hub.ended()
        return len(first), during, after

    size, during, after = asyncio.run(look())
    assert size > 1_000
    assert (during, after) == (4, 1)


def test_there_is_an_end_to_followers_and_to_runs_that_are_read(tmp_path, monkeypatch) -> None:
    for name in ("a", "b", "c"):
        recorded(tmp_path / name, budget=20)
    monkeypatch.setattr("restsure.report.dashboard.hub.MOST_READ", 2)
    monkeypatch.setattr("restsure.report.dashboard.hub.MOST_FOLLOWERS", 2)

    async def look() -> None:
        hub = Hub(tmp_path)
        followers = [hub.events("a"), hub.events("b")]
        hub.check("a")
        for follower in followers:
            await anext(follower)
        with pytest.raises(Full, match="2 runs are followed already"):
            hub.check("c")
        with pytest.raises(Full, match="2 followers are there already"):
            hub.check("a")
        for follower in followers:
            await follower.aclose()
        hub.check("a")
        hub.closing = True
        await hub.ended()

    asyncio.run(look())


def test_a_run_that_nobody_looks_at_is_read_no_more(tmp_path, monkeypatch) -> None:
    recorded(tmp_path / "run", budget=20)
    monkeypatch.setattr("restsure.report.dashboard.hub._LINGER_S", 0.0)

    async def look() -> int:
        hub = Hub(tmp_path)
        follower = hub.events("run")
        await anext(follower)
        await follower.aclose()
        await hub.ended()
        return hub.read

    assert asyncio.run(look()) == 0
