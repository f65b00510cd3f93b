"""Reads a request's body: JSON, or a form with `payload_json` and `files[n]`."""

from __future__ import annotations

import json
import re
from typing import Any

from aiohttp import BodyPartReader, web

from oshaberi.stage.rules.api_refusals import RefusalError, refusal
from oshaberi.stage.rules.message_rules import REQUEST_MOST, Upload

_FILE = re.compile(r"files\[(\d{1,3})\]")
_SLACK = 1024 * 1024
"""What a form may hold besides its files."""


async def read_body(request: web.Request) -> tuple[Any, list[Upload]]:
    """The JSON value (None if there is no body) and the files."""
    if not request.can_read_body:
        return None, []
    if request.content_type == "multipart/form-data":
        return await _read_form(request)
    content = await request.read()
    if len(content) > REQUEST_MOST + _SLACK:
        raise refusal(40005)
    return (_parse(content) if content else None), []


def _parse(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        raise refusal(50109) from None


async def _read_form(request: web.Request) -> tuple[Any, list[Upload]]:
    """Reads to the end also when it is too much: a client that still writes would hear nothing."""
    value: Any = None
    uploads: list[Upload] = []
    size = 0
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            raise RefusalError(400, 50035, "Invalid Form Body")
        content = bytes(await part.read(decode=False))
        size += len(content)
        file = _FILE.fullmatch(part.name or "")
        if part.name == "payload_json":
            value = _parse(content)
        elif file:
            uploads.append(Upload(int(file[1]), part.filename or "file", content))
    if size > REQUEST_MOST + _SLACK:
        raise refusal(40005)
    return value, uploads
