"""Serves the files of a page: only those in its folder, with headers that let nothing else run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aiohttp import web

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
