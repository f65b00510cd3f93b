"""Serves the page at `/` and `/channels/…`, and its files under `/page/`.

An entry module is served with everything that it imports, as one script. Nothing here is secret:
what happens on the stage comes through the control API, which needs the token. The content security
policy allows only files of the page and of its extensions to run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from aiohttp import web

from discord_stage.page.module_joining import joined

FOLDER = Path(__file__).parent
EXTENSIONS = "/page/extensions/"
MAIN = FOLDER / "js" / "main.js"
KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}
POLICY = {
    "default-src": "'self'",
    # Avatars and embedded pictures may be anywhere. Without a network, a drawn one replaces them.
    "img-src": "'self' data: blob: https:",
    "connect-src": "'self' ws://{host}",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}


@dataclass(frozen=True, slots=True)
class PageExtension:
    """A folder of scripts and styles that a program adds to the page.

    They are served under `/page/extensions/{name}/`. The page imports the module `entry` of the
    folder and calls its `extend(page)`: `js/extensions.js` has what `page` can do.
    """

    folder: Path
    entry: str = "extension.js"

    def address(self, name: str) -> str:
        return f"{EXTENSIONS}{name}/{self.entry}"


class Page:
    """The routes of the page. `extensions` may grow while it is served."""

    def __init__(self, extensions: Mapping[str, PageExtension]) -> None:
        self._extensions = extensions

    def add_to(self, router: web.UrlDispatcher) -> None:
        router.add_get("/", self._index)
        router.add_get("/channels/{path:.*}", self._index)
        router.add_get(EXTENSIONS + "{name}/{path:.+}", self._extension_file)
        router.add_get("/page/{path:.+}", self._file)
        router.add_get("/favicon.ico", self._icon)

    async def _index(self, request: web.Request) -> web.StreamResponse:
        return _serve_file(request, FOLDER, "index.html")

    async def _icon(self, request: web.Request) -> web.StreamResponse:
        return _serve_file(request, FOLDER, "icon.svg")

    async def _file(self, request: web.Request) -> web.StreamResponse:
        return _serve_file(request, FOLDER, request.match_info["path"], MAIN)

    async def _extension_file(self, request: web.Request) -> web.StreamResponse:
        extension = self._extensions.get(request.match_info["name"])
        if extension is None:
            raise web.HTTPNotFound(text="the page has no such extension")
        folder = extension.folder.resolve()
        return _serve_file(request, folder, request.match_info["path"], folder / extension.entry)


def _serve_file(
    request: web.Request, folder: Path, name: str, entry: Path | None = None
) -> web.StreamResponse:
    """Return a file of the folder, or everything that `entry` imports. The host was checked."""
    path = _file_in(folder, name)
    if path is None:
        raise web.HTTPNotFound(text="the page has no such file")
    policy = [f"{key} {value.format(host=request.host)}" for key, value in POLICY.items()]
    return web.Response(
        body=_script(path) if path == entry else path.read_bytes(),
        content_type=KINDS[path.suffix],
        charset="utf-8",
        headers={**HEADERS, "Content-Security-Policy": "; ".join(policy)},
    )


def _file_in(folder: Path, name: str) -> Path | None:
    """Return the folder's file of this name; None if there is none, or if the name is invalid."""
    try:
        path = (folder / name).resolve()
        is_ours = path.is_relative_to(folder) and path.suffix in KINDS and path.is_file()
    except (OSError, ValueError):
        return None
    return path if is_ours else None


def _script(entry: Path) -> bytes:
    """Return the modules as one script. Join them again if one of them was changed."""
    modules = [*FOLDER.rglob("*.js"), *entry.parent.rglob("*.js")]
    return _script_of(entry, max(one.stat().st_mtime_ns for one in modules))


@lru_cache(maxsize=8)
def _script_of(entry: Path, _changed_ns: int) -> bytes:
    return joined(entry, {"/page/": FOLDER}).encode()
