"""Reads HTTP bodies from outside: bounded in bytes, in small pieces, never unpacked all at once.

Ask for a body with `PLAIN` headers. A server may compress it anyway: then it is unpacked piece by
piece, and the unpacked bytes count. Between the pieces of one read the event loop gets its turn, so
time limits and stops hold however fast a server sends.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
from typing import Any

PIECE = 32 * 1024
"""How many bytes are worked on at once: the smallest events in so many take about 20 ms."""
PLAIN: Mapping[str, str] = {"Accept-Encoding": "identity"}
ERROR_BYTES = 64 * 1024
"""How much of an error's body is read."""

_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class BodyTooLargeError(Exception):
    """The body has more bytes than allowed."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(f"the answer has more than {most_bytes:,} bytes")
        self.most_bytes = most_bytes


class PackedBodyError(Exception):
    """The body is compressed in an unsupported way, or broken."""


class Unpacker:
    """Unpacks a compressed body. No returned piece is longer than `PIECE`."""

    def __init__(self, encoding: str) -> None:
        bits = _WINDOW_BITS.get(encoding)
        self._encoding = encoding
        self._stream = None if bits is None else zlib.decompressobj(bits)

    def pieces(self, packed: bytes) -> Iterator[bytes]:
        """Yield the unpacked bytes. Raises PackedBodyError."""
        stream = self._stream
        if stream is None:
            words = f"the server compressed its answer ({self._encoding[:40]}), unasked"
            raise PackedBodyError(words)
        try:
            while not stream.eof:
                piece = stream.decompress(packed, PIECE)
                packed = stream.unconsumed_tail
                if piece:
                    yield piece
                if not packed and len(piece) < PIECE:
                    return
        except zlib.error as error:
            raise PackedBodyError(f"the answer is badly compressed ({error})") from None


def unpacker_for(headers: Mapping[str, str]) -> Unpacker | None:
    """Return an unpacker for a body with these headers; None if it is not compressed."""
    encoding = headers.get("Content-Encoding", "").strip().lower()
    return None if encoding in ("", "identity") else Unpacker(encoding)


def cut(piece: bytes) -> Iterator[bytes]:
    """Yield a long piece in pieces of `PIECE` bytes."""
    for start in range(0, len(piece), PIECE):
        yield piece[start : start + PIECE]


async def pieces_within(
    body: AsyncIterable[bytes], headers: Mapping[str, str], most_bytes: int
) -> AsyncIterator[bytes]:
    """Yield a body, unpacked, in small pieces. Raises BodyTooLargeError, PackedBodyError."""
    unpacker, read_bytes, size = unpacker_for(headers), 0, 0
    async for read in body:
        read_bytes += len(read)
        for piece in cut(read) if unpacker is None else unpacker.pieces(read):
            size += len(piece)
            if size > most_bytes:
                raise BodyTooLargeError(most_bytes)
            yield piece
            await asyncio.sleep(0)
        if read_bytes > most_bytes:
            # It may unpack to nothing at all.
            raise BodyTooLargeError(most_bytes)


async def whole_body(
    body: AsyncIterable[bytes], headers: Mapping[str, str], most_bytes: int
) -> bytes:
    """Return a body. Raises BodyTooLargeError, PackedBodyError."""
    return b"".join([piece async for piece in pieces_within(body, headers, most_bytes)])


async def body_beginning(
    body: AsyncIterable[bytes], headers: Mapping[str, str], most_bytes: int = ERROR_BYTES
) -> bytes:
    """Return the first bytes of a body; nothing if it cannot be unpacked. For errors."""
    read = bytearray()
    try:
        async for piece in pieces_within(body, headers, most_bytes * 2):
            read += piece
            if len(read) >= most_bytes:
                break
    except (PackedBodyError, BodyTooLargeError):
        pass
    return bytes(read[:most_bytes])


async def answer_body(answer: Any, most_bytes: int) -> bytes:
    """Return the body of an aiohttp response, whose session must not unpack it itself."""
    return await whole_body(answer.content.iter_any(), answer.headers, most_bytes)
