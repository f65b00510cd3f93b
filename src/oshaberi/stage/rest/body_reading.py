"""Reads a request's body: JSON, or a form with `payload_json` and `files[n]`."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import BodyPartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from oshaberi.stage.api_refusals import RefusalError, refusal
from oshaberi.stage.json_bodies import parse_json
from oshaberi.stage.rules.message_rules import REQUEST_MOST, Upload

_FILE = re.compile(r"files\[(\d{1,3})\]")
_SLACK = 1024 * 1024
"""How many bytes a form may have besides its files."""


async def read_body(request: web.Request) -> tuple[Any, list[Upload]]:
    """Return the JSON value (None if there is no body) and the files."""
    if not request.can_read_body:
        return None, []
    if request.content_type == "multipart/form-data":
        return await _read_form(request)
    content = await request.read()
    if len(content) > REQUEST_MOST + _SLACK:
        raise refusal(40005)
    if request.content_type == "application/x-www-form-urlencoded" and content:
        return _parse_fields(content), []
    return (_parse(content) if content else None), []


def _parse_fields(content: bytes) -> Any:
    """Parse a form without files, as py-cord sends it: `payload_json=…`."""
    try:
        fields = dict(parse_qsl(content.decode(), strict_parsing=True))
    except ValueError:
        return _parse(content)
    return _parse(fields["payload_json"].encode()) if "payload_json" in fields else fields


def _parse(content: bytes) -> Any:
    try:
        return parse_json(content)
    except ValueError:
        raise refusal(50109) from None


async def _read_form(request: web.Request) -> tuple[Any, list[Upload]]:
    """Read a form. It is read to its end even if too large, so that the client gets an answer."""
    try:
        parts = await _parts(request)
    except (ValueError, HttpProcessingError):
        raise RefusalError(400, 50035, "Invalid Form Body") from None
    value: Any = None
    uploads: list[Upload] = []
    for name, filename, content in parts:
        file = _FILE.fullmatch(name)
        if name == "payload_json":
            value = _parse(content)
        elif file:
            uploads.append(Upload(int(file[1]), filename, content))
    return value, uploads


async def _parts(request: web.Request) -> list[tuple[str, str, bytes]]:
    """Return name, file name and content of each part. Content beyond the limit is dropped."""
    found: list[tuple[str, str, bytes]] = []
    left = REQUEST_MOST + _SLACK
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            raise ValueError("a form has no forms in it")
        content = bytearray()
        while chunk := await part.read_chunk():
            left -= len(chunk)
            if left >= 0:
                content += chunk
        found.append((part.name or "", part.filename or "file", bytes(content)))
    if left < 0:
        raise refusal(40005)
    return found
