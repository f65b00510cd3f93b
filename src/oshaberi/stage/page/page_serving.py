"""Serves the page at `/` and `/channels/…`, and its files under `/page/`.

Nothing here is secret: what happens on the stage comes through the control API, which wants the
token. The policy lets nothing run that is not a file of ours.
"""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

FOLDER = Path(__file__).parent
KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
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
        path = _found(request.match_info["path"])
        if path is None:
            raise web.HTTPNotFound(text="the page has no such file")
        return _served(request, path)


def _found(name: str) -> Path | None:
    """Return our file of this name, or None; also for a name that no file can have."""
    try:
        path = (FOLDER / name).resolve()
        ours = path.is_relative_to(FOLDER) and path.suffix in KINDS and path.is_file()
    except (OSError, ValueError):
        return None
    return path if ours else None


def _served(request: web.Request, path: Path) -> web.Response:
    headers = {
        "Content-Security-Policy": _policy(request.host),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-cache",
    }
    kind = KINDS[path.suffix]
    return web.Response(body=path.read_bytes(), content_type=kind, charset="utf-8", headers=headers)


def _policy(host: str) -> str:
    """Return the content security policy. The access guard has checked the host."""
    return "; ".join(f"{name} {value.format(host=host)}" for name, value in POLICY.items())
