"""Finds recorded bodies of real APIs, and plays bytes to an adapter without a socket.

The recordings are no part of the project: they lie in `shared/recordings` of a folder above it,
or where `OSHABERI_RECORDINGS` says.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from oshaberi.providers.anthropic.adapter import AnthropicAdapter
from oshaberi.providers.base import Adapter
from oshaberi.providers.connections.model_connections import StreamedBody
from oshaberi.providers.connections.sdk import BODY
from oshaberi.providers.google.adapter import GoogleAdapter
from oshaberi.providers.openai_chat.adapter import OpenAIChatAdapter
from oshaberi.providers.openai_responses.adapter import OpenAIResponsesAdapter
from oshaberi.providers.request.model_request import Endpoint

_INDEX = "index.jsonl"
_HERE = "http://127.0.0.1:9"


@dataclass(frozen=True)
class RecordedBody:
    """One recorded answer, and which family it belongs to."""

    path: Path
    family: str
    vendor: str
    status: int = 200

    def __str__(self) -> str:
        return f"{self.family}-{self.vendor}-{self.path.stem}"


def recordings() -> list[RecordedBody]:
    """All answers that are there; none where there is no such folder."""
    return [one for one in _all_bodies() if one.status == 200]


def refusals() -> list[RecordedBody]:
    """The bodies of refused requests."""
    return [one for one in _all_bodies() if one.status >= 400]


def _all_bodies() -> list[RecordedBody]:
    folder = _folder()
    if folder is None:
        return []
    rows = map(json.loads, (folder / _INDEX).read_text("utf-8").splitlines())
    return [
        RecordedBody(folder / row["file"], row["family"], row["vendor"], row["status"])
        for row in rows
    ]


def _folder() -> Path | None:
    named = os.environ.get("OSHABERI_RECORDINGS")
    above = [parent / "shared" / "recordings" for parent in Path(__file__).parents]
    candidates = [Path(named)] if named else above
    return next((folder for folder in candidates if (folder / _INDEX).is_file()), None)


def cut_at_random(body: bytes, seed: int) -> list[bytes]:
    """The body in up to 60 pieces."""
    source = random.Random(seed)
    cuts = sorted(source.randrange(len(body) + 1) for _ in range(source.randrange(1, 60)))
    return [body[a:b] for a, b in pairwise([0, *cuts, len(body)])]


class PlayedBody:
    """Stands for an SDK's open response."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.headers: dict[str, str] = {}
        self._left = iter([piece for piece in pieces if piece])

    async def __aenter__(self) -> PlayedBody:
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Nothing is open."""

    @property
    def http_response(self) -> PlayedBody:
        """What an SDK wraps."""
        return self

    @property
    def extensions(self) -> dict[str, StreamedBody]:
        """Where our transport puts the body."""
        return {BODY: StreamedBody(self, 300.0)}

    @property
    def content(self) -> PlayedBody:
        """Google's transport is another one."""
        return self

    async def readany(self) -> bytes:
        return next(self._left, b"")


class _ChatBody(OpenAIChatAdapter):
    pieces: Sequence[bytes] = ()

    async def _answer(self, _wanted: Any) -> Any:
        return nullcontext(StreamedBody(PlayedBody(self.pieces), 300.0))


class _ResponsesBody(OpenAIResponsesAdapter):
    pieces: Sequence[bytes] = ()

    async def _answer(self, _wanted: Any) -> Any:
        return nullcontext(StreamedBody(PlayedBody(self.pieces), 300.0))


class _MessagesBody(AnthropicAdapter):
    pieces: Sequence[bytes] = ()

    def _creating(self, _wanted: Any) -> Any:
        return PlayedBody(self.pieces)


class _GeminiBody(GoogleAdapter):
    pieces: Sequence[bytes] = ()

    def _answer(self, _asked: Any) -> Any:
        return PlayedBody(self.pieces)


_PLAYERS: dict[str, Any] = {
    "openai": _ChatBody,
    "responses": _ResponsesBody,
    "anthropic": _MessagesBody,
    "google": _GeminiBody,
}


def adapter_of_bytes(family: str, pieces: Sequence[bytes] = ()) -> Adapter:
    """An adapter of the family whose model answers with these bytes."""
    adapter: Any = _PLAYERS[family](Endpoint(family, "model-1", _HERE))
    adapter.pieces = pieces
    made: Adapter = adapter
    return made
