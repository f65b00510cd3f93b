"""The URLs of the status page: the page, its files, login and logout, its data, and the tools."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web

from oshaberi.bot.status_page.tool_switches import PageRefusedError, ToolSwitch
from oshaberi.checked_json import parse_json

# The login: the token starts a session of twelve hours, kept in a cookie.
#
# The browser sends the token once, in the body of a form, so no URL, log or browser history
# contains it. Scripts cannot read the cookie.


log = logging.getLogger(__name__)

COOKIE = "oshaberi_status"
SESSION_SECONDS = 12 * 3600
MOST_SESSIONS = 50
WARN_SECONDS = 60.0
WINDOW_SECONDS = 60.0
TRIES_OF_AN_ADDRESS = 5
TRIES_OF_ALL = 60
MOST_ADDRESSES = 1000
FORM = "application/x-www-form-urlencoded"
CSRF_HEADER = "X-CSRF-Token"


class PageLogin:
    """The token of a process, and the sessions of everybody who has entered it."""

    def __init__(self, token: str, now_s: Callable[[], float] = time.monotonic) -> None:
        self._token = _digest(token)
        self._secret = secrets.token_bytes(32)
        self._now_s = now_s
        self._ends_s: OrderedDict[bytes, float] = OrderedDict()
        """When each session ends, by the digest of its cookie."""
        self._warned_s: float | None = None
        self._wrong = 0
        self._throttle = LoginThrottle(now_s)

    def is_known(self, request: web.Request) -> bool:
        """Return whether a request belongs to a session."""
        cookie = request.cookies.get(COOKIE, "")
        end_s = self._ends_s.get(_digest(cookie))
        return end_s is not None and self._now_s() < end_s

    def csrf_token(self, request: web.Request) -> str:
        """Return what a request of this session that changes something has to send along."""
        cookie = _digest(request.cookies.get(COOKIE, ""))
        return hmac.new(self._secret, cookie, hashlib.sha256).hexdigest()

    def is_from_our_page(self, request: web.Request) -> bool:
        """Return whether a script of our page sent a request, in the same session."""
        given = _digest(request.headers.get(CSRF_HEADER, ""))
        right = hmac.compare_digest(given, _digest(self.csrf_token(request)))
        return right and _is_same_origin(request)

    def wait_s(self, request: web.Request) -> float:
        """Return how long the sender of a request has to wait before the next try, usually 0."""
        return self._throttle.wait_s(_address(request))

    async def let_in(self, request: web.Request, response: web.StreamResponse) -> bool:
        """Check the token of a form. If it is right, begin a session with the response."""
        given = await _given_token(request) if _is_our_form(request) else None
        right = given is not None and hmac.compare_digest(_digest(given), self._token)
        if not right:
            self._warn(request)
            return False
        session = secrets.token_urlsafe(32)
        self._ends_s[_digest(session)] = self._now_s() + SESSION_SECONDS
        if len(self._ends_s) > MOST_SESSIONS:
            self._ends_s.popitem(last=False)
        response.set_cookie(
            COOKIE,
            session,
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="Strict",
            secure=_is_https(request),
        )
        return True

    def let_out(self, request: web.Request, response: web.StreamResponse) -> None:
        """End the session of a request, and delete the browser's cookie if there was one."""
        if _is_our_form(request) and COOKIE in request.cookies:
            self._ends_s.pop(_digest(request.cookies[COOKIE]), None)
            response.del_cookie(COOKIE, httponly=True, samesite="Strict")

    def _warn(self, request: web.Request) -> None:
        """Log a wrong token, once a minute at most."""
        self._wrong += 1
        self._throttle.note_wrong(_address(request))
        now_s = self._now_s()
        if self._warned_s is None or now_s - self._warned_s >= WARN_SECONDS:
            self._warned_s = now_s
            log.warning(
                "somebody gave a wrong token for the status page (%d since the start, the last "
                "from %s)",
                self._wrong,
                request.remote,
            )


class LoginThrottle:
    """Counts wrong tokens, for each address and for all together, in windows of a minute.

    A token is too long to be guessed; this keeps strangers from trying, and from keeping the bot
    busy. Attempts from elsewhere do not delay attempts from this machine.
    """

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._all = _Window()
        self._windows: OrderedDict[str, _Window] = OrderedDict()

    def wait_s(self, address: str) -> float:
        now_s = self._now_s()
        own = self._windows.get(address, _Window())
        waits = [own.wait_s(now_s, TRIES_OF_AN_ADDRESS)]
        if address != _THIS_MACHINE:
            waits.append(self._all.wait_s(now_s, TRIES_OF_ALL))
        return max(waits)

    def note_wrong(self, address: str) -> None:
        now_s = self._now_s()
        self._all.count(now_s)
        self._windows.setdefault(address, _Window()).count(now_s)
        self._windows.move_to_end(address)
        if len(self._windows) > MOST_ADDRESSES:
            self._windows.popitem(last=False)


class _Window:
    """How many wrong tokens have come since the first one within a minute."""

    __slots__ = ("_began_s", "_count")

    def __init__(self) -> None:
        self._began_s = 0.0
        self._count = 0

    def count(self, now_s: float) -> None:
        if not self._count or now_s - self._began_s >= WINDOW_SECONDS:
            self._began_s, self._count = now_s, 0
        self._count += 1

    def wait_s(self, now_s: float, most: int) -> float:
        left_s = self._began_s + WINDOW_SECONDS - now_s
        return left_s if self._count >= most and left_s > 0 else 0.0


_THIS_MACHINE = "this machine"


def _address(request: web.Request) -> str:
    """Return what counts as one sender: an address, or the /64 network of an IPv6 address."""
    try:
        address = ip_address((request.remote or "").partition("%")[0])
    except ValueError:
        return "unknown"
    if address.is_loopback:
        return _THIS_MACHINE
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped
        return str(inner or ip_network((address, 64), strict=False))
    return str(address)


def _digest(text: str) -> bytes:
    """Return a digest. All have the same length, so comparing two does not reveal the token's."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


async def _given_token(request: web.Request) -> str | None:
    """Return the token in a form, or None: a stranger may send anything."""
    if request.content_type != FORM:
        return None
    try:
        fields = parse_qs((await request.read()).decode("utf-8", "replace"), max_num_fields=10)
    except (ValueError, web.RequestPayloadError):
        return None
    return fields.get("token", [None])[0]


def _is_our_form(request: web.Request) -> bool:
    """Return whether a form was sent from our own page. Browsers say which site a form comes from.

    For our own page they say `Origin: null`, because it asks them to send no referrer. They also
    say it for a sandbox inside another page, but there a newer header shows the difference.
    """
    if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        return False
    origin = request.headers.get("Origin")
    return origin in (None, "null") or origin.partition("://")[2] == request.host


def _is_same_origin(request: web.Request) -> bool:
    """Return whether a script of our page sent a request. Unlike forms, scripts do say so.

    `Origin` is compared only where a browser does not send the newer header: behind a proxy, we
    may not know the name that the browser uses for us.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    return request.headers.get("Origin", "").partition("://")[2] == request.host


def session_mark(request: web.Request) -> str:
    """Return a few letters for the log that differ from session to session."""
    return _digest(request.cookies.get(COOKIE, "")).hex()[:8]


def _is_https(request: web.Request) -> bool:
    """Return whether the browser uses HTTPS, with this server or with a proxy in front of it."""
    return request.secure or request.headers.get("X-Forwarded-Proto") == "https"


# The URLs. Without a configured token there is only a page that says how to switch it on.
#
# The files hold nothing secret; the data needs a session. The content security policy allows only
# our own files to run. `bot.operator_endpoint` serves all of them, beside `/health` and
# `/metrics`.


FOLDER = Path(__file__).parent / "page"
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}
WRONG_PLACE = b"<!-- wrong -->"
WRONG = b'<p class="lost" role="alert">That is not the token.</p>'
TOO_MANY = b'<p class="lost" role="alert">Too many wrong tokens. Try again in %d s.</p>'

Report = Callable[[], Awaitable[dict[str, Any]]]
ReadTools = Callable[[int], Awaitable[dict[str, Any]]]
SwitchTool = Callable[[ToolSwitch], Awaitable[str]]


class StatusPage:
    """The routes.

    `report` returns what the page shows, `read_tools` the tools of a server; `switch_tool` is all
    that the page can change. The last two raise PageRefusedError.
    """

    def __init__(
        self, token: str | None, report: Report, read_tools: ReadTools, switch_tool: SwitchTool
    ) -> None:
        self._login = None if token is None else PageLogin(token)
        self._report = report
        self._read_tools = read_tools
        self._switch_tool = switch_tool

    def add_to(self, router: web.UrlDispatcher) -> None:
        router.add_get("/", self._index)
        router.add_get("/status/{name}", self._file)
        if self._login is not None:
            router.add_get("/status.json", self._data)
            router.add_get("/tools.json", self._tools)
            router.add_post("/tools.json", self._switch)
            router.add_post("/login", self._enter)
            router.add_post("/logout", self._leave)

    async def _index(self, request: web.Request) -> web.Response:
        if self._login is None:
            return _page("off.html", 404)
        return _page("status.html" if self._login.is_known(request) else "login.html")

    async def _file(self, request: web.Request) -> web.Response:
        path = page_file(FOLDER, request.match_info["name"])
        if path is None or path.suffix == ".html":
            raise web.HTTPNotFound(text="the page has no such file")
        return file_response(path, POLICY)

    async def _data(self, request: web.Request) -> web.Response:
        if not self._known.is_known(request):
            return _problem(401, LOG_IN)
        return web.json_response(await self._report(), headers=_PRIVATE)

    async def _tools(self, request: web.Request) -> web.Response:
        if not self._known.is_known(request):
            return _problem(401, LOG_IN)
        try:
            tools = await self._read_tools(_server_id(request.query.get("server")))
        except PageRefusedError as error:
            return _problem(error.status, str(error))
        token = self._known.csrf_token(request)
        return web.json_response({**tools, "csrf_token": token}, headers=_PRIVATE)

    async def _switch(self, request: web.Request) -> web.Response:
        if not self._known.is_known(request):
            return _problem(401, LOG_IN)
        if not self._known.is_from_our_page(request):
            return _problem(403, "This was not sent by the status page. Reload it.")
        try:
            switch = await _given_switch(request)
            told = await self._switch_tool(switch)
        except PageRefusedError as error:
            return _problem(error.status, str(error))
        log.info(
            "the status page switched the tool %s %s in server %d (session %s, from %s)",
            switch.tool,
            "on" if switch.offer else "off",
            switch.server_id,
            session_mark(request),
            request.remote,
        )
        return web.json_response({"told": told}, headers=_PRIVATE)

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        wait_s = ceil(self._known.wait_s(request))
        if wait_s:
            page = _page("login.html", 429, (WRONG_PLACE, TOO_MANY % wait_s))
            page.headers["Retry-After"] = str(wait_s)
            return page
        response = web.HTTPSeeOther("/", headers=_PRIVATE)
        if await self._known.let_in(request, response):
            raise response
        return _page("login.html", 403, (WRONG_PLACE, WRONG))

    async def _leave(self, request: web.Request) -> web.StreamResponse:
        response = web.HTTPSeeOther("/", headers=_PRIVATE)
        self._known.let_out(request, response)
        raise response

    @property
    def _known(self) -> PageLogin:
        assert self._login is not None
        return self._login


# What the page sends to switch a tool: {"server": "123", "tool": "react", "offer": false}


MOST_BODY_BYTES = 1000
LOG_IN = "log in at /"


async def _given_switch(request: web.Request) -> ToolSwitch:
    if request.content_type != "application/json":
        raise PageRefusedError(415, "A switch has to be JSON.")
    try:
        given = parse_json(await _bounded_body(request))
    except (ValueError, RecursionError, web.RequestPayloadError):
        raise PageRefusedError(400, "This is not JSON.") from None
    match given:
        case {"server": str(server), "tool": str(tool), "offer": bool(offer)}:
            return ToolSwitch(_server_id(server), tool, offer)
    raise PageRefusedError(400, "A switch has the fields server, tool and offer.")


async def _bounded_body(request: web.Request) -> bytes:
    body = bytearray()
    async for part in request.content.iter_chunked(MOST_BODY_BYTES):
        body += part
        if len(body) > MOST_BODY_BYTES:
            raise PageRefusedError(413, "This is too long for a switch.")
    return bytes(body)


def _server_id(text: str | None) -> int:
    """Return the id in a text; 0, which is no server's, if it is none."""
    is_id = text is not None and text.isascii() and text.isdigit() and len(text) <= 20
    return int(text) if is_id and text else 0


# The files of the page: only those in its folder, with headers that let nothing else run.


KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
SAFE_HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}


def page_file(folder: Path, name: str) -> Path | None:
    """Return the folder's file of this name; None if there is none, or if the name is invalid."""
    try:
        path = (folder / name).resolve()
        ours = path.is_relative_to(folder) and path.suffix in KINDS and path.is_file()
    except (OSError, ValueError):
        return None
    return path if ours else None


def file_response(path: Path, policy: Mapping[str, str], status: int = 200) -> web.Response:
    """Return a file of a page. `policy` is its security policy."""
    directives = "; ".join(f"{name} {value}" for name, value in policy.items())
    return web.Response(
        body=path.read_bytes(),
        status=status,
        content_type=KINDS[path.suffix],
        charset="utf-8",
        headers={**SAFE_HEADERS, "Content-Security-Policy": directives},
    )


_PRIVATE = {**SAFE_HEADERS, "Cache-Control": "no-store"}


def _problem(status: int, text: str) -> web.Response:
    return web.json_response({"problem": text}, status=status, headers=_PRIVATE)


def _page(name: str, status: int = 200, swap: tuple[bytes, bytes] = (b"", b"")) -> web.Response:
    """Return a page that no browser stores. `swap` is a text to replace, and its replacement."""
    response = file_response(FOLDER / name, POLICY, status)
    response.headers["Cache-Control"] = "no-store"
    if swap[0] and isinstance(response.body, bytes):
        response.body = response.body.replace(*swap)
    return response
