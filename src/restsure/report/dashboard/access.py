"""Who may look: whoever has the token, at this address, by GET or HEAD, with nothing loaded from elsewhere."""

import hmac
import os
import secrets
import stat
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from restsure.report.assets import digest

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

METHODS = ("GET", "HEAD")
_POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {digest('')}; img-src data: blob:; connect-src 'self'; "
    f"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_SHORTEST = 32  # characters of a token that is kept


class Guard:
    """Stands before everything else: wrong host, wrong method and wrong token never get further."""

    def __init__(self, app: App, *, token: str, hosts: Iterable[str], cookie: str):
        self.app, self.token, self.hosts, self.cookie = app, token.encode(), frozenset(hosts), cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return  # no websockets, and nothing to prepare
        guarded = _with_headers(send)
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        asked = [value.lower() for name, value in headers if name == "host"]
        if len(asked) != 1 or asked[0] not in self.hosts:
            await _answer(guarded, 421, "This address is not that of the dashboard.")
        elif scope["method"] not in METHODS:
            await _answer(guarded, 405, "The dashboard only shows.", {"allow": ", ".join(METHODS)})
        elif scope["path"] == "/" and (given := parse_qs(scope["query_string"].decode("latin-1")).get("token")):
            await self._enter(scope, guarded, given)
        elif self._knows(headers):
            await self.app(scope, receive, guarded)
        else:
            await _answer(guarded, 401, "Open the address that restsure dashboard has printed: it has a token.")

    async def _enter(self, scope: Scope, send: Send, given: list[str]) -> None:
        """With the right token in the address, it moves to a cookie, and out of what links and histories show."""
        if len(given) != 1 or not self._right(given[0]):
            await _answer(send, 401, "This is not the token: open the address that restsure dashboard has printed.")
            return
        run = parse_qs(scope["query_string"].decode("latin-1")).get("run", [""])[0]
        cookie = f"{self.cookie}={self.token.decode()}; Path=/; HttpOnly; SameSite=Strict"
        where = f"/?run={quote(run, safe='')}" if run else "/"
        await _answer(send, 303, "", {"location": where, "set-cookie": cookie})

    def _knows(self, headers: Iterable[tuple[str, str]]) -> bool:
        for name, value in headers:
            if name == "authorization" and value.startswith("Bearer ") and self._right(value.removeprefix("Bearer ")):
                return True
            if name == "cookie" and any(map(self._right, _cookies(value, self.cookie))):
                return True
        return False

    def _right(self, token: str) -> bool:
        """Compared in the same time, wherever it differs."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token)


def _cookies(header: str, name: str) -> list[str]:
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return []
    return [] if found is None else [found.value]


def _with_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message["headers"]}
            extra = HEADERS if b"cache-control" in given else HEADERS | {"cache-control": "no-store"}
            message["headers"] = [
                *message["headers"],
                *((name.encode(), value.encode()) for name, value in extra.items()),
            ]
        await send(message)

    return guarded


async def _answer(send: Send, status: int, text: str, headers: dict[str, str] | None = None) -> None:
    body = text.encode()
    fields = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body)), **(headers or {})}
    start = {"type": "http.response.start", "status": status}
    await send(start | {"headers": [(name.encode(), value.encode("latin-1")) for name, value in fields.items()]})
    await send({"type": "http.response.body", "body": body})


def allowed_hosts(names: Iterable[str], port: int) -> set[str]:
    """What a Host header may say: these names with the port, in brackets where they are IPv6."""
    written = {f"[{name}]" if ":" in name else name.lower() for name in names}
    return {f"{name}:{port}" for name in written} | (written if port == 80 else set())


def own_token(*, new: bool = False) -> str:
    """The token of this user, so that pages find a server again that was restarted; made at first, or ``new``.

    It is kept in a file that only this user can read; where none can be kept, it lasts as long as the server.
    """
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "restsure"
    path, token = state / "dashboard-token", secrets.token_urlsafe(32)
    try:
        if not new and (kept := _kept(path)):
            return kept
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(token)
        draft.replace(path)
    except OSError:
        pass
    return token


def _kept(path: Path) -> str | None:
    """A token that is this user's own, and nobody else's."""
    try:
        about = path.lstat()
        mine = about.st_uid == (os.getuid() if hasattr(os, "getuid") else about.st_uid)
        private = stat.S_ISREG(about.st_mode) and not about.st_mode & 0o077 and mine
        token = path.read_text(encoding="ascii").strip() if private else ""
    except (OSError, UnicodeDecodeError):
        return None
    return token if len(token) >= _SHORTEST and token.replace("-", "").replace("_", "").isalnum() else None
