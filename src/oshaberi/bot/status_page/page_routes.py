"""The URLs of the status page: the page, its files, login and logout, and its data.

Without a configured token there is only a page that says how to switch it on. The files hold
nothing secret; the data needs a session. The content security policy allows only our own files to
run. `bot.operator_endpoint` serves all of them, beside `/health` and `/metrics`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import ceil
from pathlib import Path
from typing import Any

from aiohttp import web

from oshaberi.bot.status_page.page_login import PageLogin
from oshaberi.page_files import SAFE_HEADERS, file_response, page_file

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


class StatusPage:
    """The routes. `report` returns what the page shows."""

    def __init__(self, token: str | None, report: Report) -> None:
        self._login = None if token is None else PageLogin(token)
        self._report = report

    def add_to(self, router: web.UrlDispatcher) -> None:
        router.add_get("/", self._index)
        router.add_get("/status/{name}", self._file)
        if self._login is not None:
            router.add_get("/status.json", self._data)
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
            return web.json_response({"problem": "log in at /"}, status=401, headers=_PRIVATE)
        return web.json_response(await self._report(), headers=_PRIVATE)

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


_PRIVATE = {**SAFE_HEADERS, "Cache-Control": "no-store"}


def _page(name: str, status: int = 200, put: tuple[bytes, bytes] = (b"", b"")) -> web.Response:
    """Return a page that no browser stores. `put` is a text to replace, and its replacement."""
    response = file_response(FOLDER / name, POLICY, status)
    response.headers["Cache-Control"] = "no-store"
    if put[0] and isinstance(response.body, bytes):
        response.body = response.body.replace(*put)
    return response
