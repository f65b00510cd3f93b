"""Serves the page at `/` and `/channels/…`, and its files under `/page/`.

The two entry modules are served with everything that they import, as one script each. Nothing here
is secret: what happens on the stage comes through the control API, which needs the token. The
content security policy allows only our own files to run.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from aiohttp import web

from oshaberi.page_files import file_response, page_file
from oshaberi.stage.page.module_joining import joined

FOLDER = Path(__file__).parent
JOINED = ("js/main.js", "inspector/inspector.js")
"""Modules that are served with everything that they import. `js/dom.js` is in both, and numbers ids
for each."""
POLICY = {
    "default-src": "'self'",
    # An avatar or an embed's picture may lie anywhere; without a network a drawn one stands in.
    "img-src": "'self' data: blob: https:",
    "connect-src": "'self' ws://{host}",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}


class Page:
    """The routes of the page."""

    def add_to(self, router: web.UrlDispatcher) -> None:
        router.add_get("/", self._index)
        router.add_get("/channels/{path:.*}", self._index)
        router.add_get("/page/{path:.+}", self._file)
        router.add_get("/favicon.ico", self._icon)

    async def _index(self, request: web.Request) -> web.StreamResponse:
        return _served(request, FOLDER / "index.html")

    async def _icon(self, request: web.Request) -> web.StreamResponse:
        return _served(request, FOLDER / "icon.svg")

    async def _file(self, request: web.Request) -> web.StreamResponse:
        path = page_file(FOLDER, request.match_info["path"])
        if path is None:
            raise web.HTTPNotFound(text="the page has no such file")
        return _served(request, path)


def _served(request: web.Request, path: Path) -> web.Response:
    """Return a file. The access guard has checked the host."""
    policy = {name: value.format(host=request.host) for name, value in POLICY.items()}
    body = _script(path) if path in _JOINED else None
    return file_response(path, policy, body=body)


_JOINED = frozenset(FOLDER / name for name in JOINED)


def _script(entry: Path) -> bytes:
    """Return the modules as one script, joined anew if one of them was changed."""
    changed_ns = max(one.stat().st_mtime_ns for one in FOLDER.rglob("*.js"))
    return _script_of(entry, changed_ns)


@lru_cache(maxsize=2 * len(JOINED))
def _script_of(entry: Path, _changed_ns: int) -> bytes:
    return joined(entry).encode()
