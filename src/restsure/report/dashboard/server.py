"""The server: a page, its assets, the list of runs, and what happens in each as it happens."""

import asyncio
import ipaddress
import os
import socket
import sys
import tempfile
import webbrowser
from collections.abc import AsyncGenerator, Callable, Sequence
from html import escape
from pathlib import Path
from types import FrameType
from typing import Any

from restsure import __version__
from restsure.errors import InvalidParameter, MissingExtra, RestSureError
from restsure.report.assets import PLOTLY, SHARED, asset, digest, page, palette, style_places
from restsure.report.dashboard.access import Guard, Receive, allowed_hosts
from restsure.report.dashboard.hub import Full, Hub
from restsure.report.html import report
from restsure.report.story import story_in

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route
except ImportError:
    raise MissingExtra("the dashboard needs starlette and uvicorn: pip install 'restsure[dashboard]'") from None

PORT = 8642
_SLOW_S = 20.0  # after which a follower that takes nothing is dropped
_KINDS = {"js": "text/javascript", "css": "text/css"}
_OWN = (*SHARED, "live.js")


class EventStream(Response):
    """Events as they come; ends when the follower goes, or takes nothing for too long."""

    def __init__(self, events: AsyncGenerator[bytes, None]):
        super().__init__(media_type="text/event-stream")
        self.events = events

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send them."""
        headers = [(name, value) for name, value in self.raw_headers if name != b"content-length"]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body"})
            return
        gone = asyncio.create_task(_gone(receive))
        try:
            async for event in self.events:
                if gone.done():
                    return
                async with asyncio.timeout(_SLOW_S):
                    await send({"type": "http.response.body", "body": event, "more_body": True})
            await send({"type": "http.response.body"})
        except TimeoutError:
            return
        finally:
            gone.cancel()
            await self.events.aclose()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def application(hub: Hub) -> Starlette:
    """All routes; who may use them is not decided here."""
    one_report = asyncio.Lock()  # at a time: each is some megabytes

    def assets(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in (*_OWN, PLOTLY, "page.css"):
            return JSONResponse({"error": "there is no such asset"}, 404)
        content = asset(name)
        tag = f'"{digest(content)[8:-1]}"'
        headers = {"cache-control": "no-cache", "etag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=_KINDS[name.rpartition(".")[2]], headers=headers)

    async def runs(request: Request) -> Response:
        return JSONResponse(await hub.runs())

    async def events(request: Request) -> Response:
        hub.check(request.path_params["run"])
        return EventStream(hub.events(request.path_params["run"]))

    async def story(request: Request) -> Response:
        return Response(await hub.story(request.path_params["run"]), media_type="application/json")

    async def whole(request: Request) -> Response:
        run = request.path_params["run"]
        async with one_report:
            content = await asyncio.to_thread(lambda: report(story_in(hub.directory(run))))
        return HTMLResponse(content, headers={"content-disposition": f'attachment; filename="{run}.html"'})

    app = Starlette(
        routes=[
            Route("/", lambda request: HTMLResponse(_page())),
            Route("/assets/{name}", assets),
            Route("/runs", runs),
            Route("/runs/{run}/events", events),
            Route("/runs/{run}/story", story),
            Route("/runs/{run}/report", whole),
        ],
        exception_handlers={
            404: lambda request, error: JSONResponse({"error": "there is nothing here"}, 404),
            RestSureError: lambda request, error: JSONResponse({"error": str(error)}, 404),
            Full: lambda request, error: JSONResponse({"error": str(error)}, 503),
        },
    )
    app.router.redirect_slashes = False
    return app


def _page() -> str:
    scripts = "\n".join(f'<script src="/assets/{name}" defer></script>' for name in _OWN)
    scripts += f'\n<script src="/assets/{PLOTLY}" id="plotly" async></script>'
    return page(
        kind="dashboard",
        title="restsure",
        styles=f'<link rel="stylesheet" href="/assets/page.css">{style_places()}',
        sentence="Reading the run.",
        runs='<nav class="runs" aria-label="Runs"><ul id="runs"></ul></nav>',
        hide_notes=" hidden",
        footer=f'restsure {escape(__version__)}. <a id="save" hidden download>Save a report of this run</a>',
        scripts=f'<script type="application/json" id="palette">{palette()}</script>\n{scripts}',
    )


class _Server(uvicorn.Server):
    """Ends when it is told to: followers first, since they would stay for ever."""

    def __init__(self, config: uvicorn.Config, hub: Hub, ready: Callable[[], None]):
        super().__init__(config)
        self.hub, self.ready = hub, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say so when it listens."""
        await super().startup(sockets)
        if self.started:
            self.ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ctrl-C, or SIGTERM."""
        self.hub.closing = self.should_exit = True


def serve(
    directory: Path | str,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str,
    allow_hosts: Sequence[str] = (),
    ready: Callable[[str], None] = print,
) -> None:
    """Show a run directory, or a folder of them, until Ctrl-C or SIGTERM; ``ready`` is given the address to open."""
    root = Path(directory)
    if not root.is_dir():
        raise InvalidParameter(f"dir={str(root)!r}: must be a directory, of a run or with runs in it")
    names = _names(host, allow_hosts)
    listening = _listen(host, port)
    port, shown, hub = listening.getsockname()[1], names[0], Hub(root)
    guard = Guard(application(hub), token=token, hosts=allowed_hosts(names, port), cookie=f"restsure_{port}")
    config = uvicorn.Config(
        guard,
        http="h11",
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=1_000,
        timeout_graceful_shutdown=10,
    )
    address = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/?token={token}"
    server = _Server(config, hub, lambda: ready(address))
    with listening:
        server.run(sockets=[listening])


def _listen(host: str, port: int | None) -> socket.socket:
    """A socket at that port; without one, at the usual one, or where that is taken, at any."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for attempt in (PORT, 0) if port is None else (port,):
        listening = socket.socket(family)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, attempt))
            return listening
        except (OSError, OverflowError) as error:
            listening.close()
            why = getattr(error, "strerror", None) or str(error)
    raise InvalidParameter(f"host={host!r}, port={port!r}: must be an address that is free here ({why})")


def _names(host: str, more: Sequence[str]) -> list[str]:
    """Under which names the server may be asked for; the first is the one to open."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        local, anywhere = host == "localhost", False
    else:
        local, anywhere = address.is_loopback, address.is_unspecified
    if anywhere and not more:
        raise InvalidParameter(f"host={host!r}: must come with --allow-host, the name under which the page is opened")
    return [*(more if anywhere else [host, *more]), *(["localhost", "127.0.0.1", "::1"] if local else [])]


def open_page(address: str) -> None:
    """In a browser with a window, if there is one; by a file of one's own, since others can see what programs are given."""
    if not (sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    handle, name = tempfile.mkstemp(suffix=".html", prefix="restsure-")
    with os.fdopen(handle, "w") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(address)}">')
    webbrowser.open(Path(name).as_uri())
