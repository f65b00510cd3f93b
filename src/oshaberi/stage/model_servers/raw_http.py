"""Minimal HTTP/1.1 for scripted servers that must be able to break the protocol."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Mapping
from http import HTTPStatus

from oshaberi.stage.model_servers.wire_format import ReceivedRequest, WireAnswer

_NOW = struct.pack("ii", 1, 0)
"""SO_LINGER with no time: closing sends RST."""


async def read_request(reader: asyncio.StreamReader) -> ReceivedRequest | None:
    """Read the next request of a connection, or None at its end."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = raw.decode("latin-1").strip().split("\r\n")
    method, path, _version = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    return ReceivedRequest(method, path, headers, await _body(reader, headers))


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """Return the head of a chunked answer."""
    return _head(status, {**headers, "transfer-encoding": "chunked"})


def piece(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def end_of_body() -> bytes:
    return b"0\r\n\r\n"


def whole(answer: WireAnswer) -> bytes:
    """Return an answer of known length, as JSON unless its headers say something else."""
    body = answer.body.encode()
    length = {"content-length": str(len(body))}
    return (
        _head(answer.status, {"content-type": "application/json", **answer.headers, **length})
        + body
    )


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_phrase(status)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


def reset(writer: asyncio.StreamWriter) -> None:
    """End the connection with RST, as a crashing server does."""
    raw: socket.socket = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NOW)
    writer.transport.abort()
