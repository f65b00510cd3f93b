"""Pictures and sounds in an answer: which ones are accepted, and under what name they are sent.

The server's own description of a file is ignored: the first bytes decide.
"""

from __future__ import annotations

import base64
import binascii
import struct
from typing import NamedTuple

from oshaberi.chunks import AnswerFile

MOST_FILES = 4
"""How many files of one answer are taken."""
MOST_BYTES = 8 * 1024 * 1024
"""Discord takes 10 MiB in a message, if the server has no boosts."""

_BEGINNINGS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "picture", "png"),
    (b"\xff\xd8\xff", "picture", "jpg"),
    (b"GIF8", "picture", "gif"),
    (b"OggS", "sound", "ogg"),
    (b"ID3", "sound", "mp3"),
    (b"\xff\xfb", "sound", "mp3"),
    (b"\xff\xf3", "sound", "mp3"),
    (b"fLaC", "sound", "flac"),
)
_RIFF = {b"WEBP": ("picture", "webp"), b"WAVE": ("sound", "wav")}
_RAW_SOUND = "audio/l16"
_USUAL_RATE = 24_000


class FileStep(NamedTuple):
    """A file of the answer, in base64, as the API sent it."""

    data: str
    mime: str = ""


class SoundPiece(NamedTuple):
    """A piece of the answer as it is spoken, in base64: all pieces are one file."""

    data: str


class SpokenAnswer:
    """The pieces of a spoken answer.

    Without a header they are raw samples, as OpenAI sends them.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._is_broken = False

    def add(self, piece: SoundPiece) -> None:
        content = b"" if self._is_broken else _decoded(piece.data)
        self._size += len(content)
        self._is_broken = self._is_broken or not content or self._size > MOST_BYTES
        if self._is_broken:
            self._pieces.clear()
        else:
            self._pieces.append(content)

    def file(self, number: int) -> AnswerFile | None:
        """Return the file; without content if it cannot be shown, None if nothing was spoken."""
        if not self._size and not self._is_broken:
            return None
        content = b"".join(self._pieces)
        if content and not _kind(content)[1]:
            content = _as_wave(content, _RAW_SOUND)
        _what, ending = _kind(content)
        return AnswerFile(f"sound-{number}.{ending}" if ending else f"sound-{number}", content)


def from_data_url(url: object) -> FileStep | None:
    """Return the file of a `data:` URL. Other URLs are not fetched."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return None
    kind, _, data = url[len("data:") :].partition(",")
    return FileStep(data, kind.partition(";")[0]) if kind.endswith(";base64") else None


def answer_file(step: FileStep, number: int) -> AnswerFile:
    """Return the file; without content if it is too large, broken, or of an unsupported type."""
    content = _decoded(step.data) if number <= MOST_FILES else b""
    if content and step.mime.lower().startswith(_RAW_SOUND):
        content = _as_wave(content, step.mime)
    what, ending = _kind(content)
    if not content or not ending:
        return AnswerFile(f"{what or 'file'}-{number}")
    return AnswerFile(f"{what}-{number}.{ending}", content)


def _decoded(data: str) -> bytes:
    if len(data) > MOST_BYTES * 4 // 3 + 4:
        return b""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _kind(content: bytes) -> tuple[str, str]:
    if content[:4] == b"RIFF":
        return _RIFF.get(content[8:12], ("", ""))
    found = (row for row in _BEGINNINGS if content.startswith(row[0]))
    return next(((what, ending) for _, what, ending in found), ("", ""))


def _as_wave(samples: bytes, mime: str) -> bytes:
    """Return 16-bit samples of one channel, as Gemini speaks, with the header of a WAV file."""
    rate = next((one for one in mime.split(";") if one.strip().startswith("rate=")), "")
    digits = rate.strip()[len("rate=") :]
    per_second = int(digits) if digits.isdecimal() and len(digits) < 7 else _USUAL_RATE
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, per_second, per_second * 2, 2, 16)
    body = form + struct.pack("<4sI", b"data", len(samples)) + samples
    return struct.pack("<4sI4s", b"RIFF", 4 + len(body), b"WAVE") + body
