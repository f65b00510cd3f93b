"""What a reader sees: documents at a model's speed, through the stage's rate limits.

Runs in virtual time, so the figures are the same on every machine. A request takes
`REQUEST_SECONDS`, and what it shows can be read when it is answered. One that meets an empty bucket
is counted as refused and repeated when the bucket is full again, as discord.py does.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any, Literal

from bench.engines import cut
from bench.readmes import readmes
from bench.taps import NullSink, Tap
from discord_stage.refusals import RefusalError
from discord_stage.requests.rate_limits import (
    MESSAGE_CREATE_LIMIT,
    MESSAGE_DELETE_LIMIT,
    MESSAGE_EDIT_LIMIT,
    TYPING_LIMIT,
    RateLimit,
    RateLimits,
)
from oshaberi import TextConfig
from oshaberi.chunks import Chunk
from oshaberi.delivery.sink import Post, RequestKind, RequestRoom, Sent, WireState
from oshaberi.discord_io.requests.limits import room_of_headers
from oshaberi.stream import StreamConfig, StreamContext, stream_to_sink
from oshaberi.virtual_time import run_virtual

TOKENS_PER_SECOND = 40.0
REQUEST_SECONDS = 0.12
DOCUMENTS = 30
SHORTEST, LONGEST = 600, 5900
MOST_REFUSED = 0.01

_DECORATION = re.compile(r"!\[|^\s*<|^\s*(?:\||={4}|-{4})")
"""Also tables and underlined headings: a table is a picture, which takes time of its own."""

Mode = Literal["0", "1", "2", "3", "live"]
MODES: tuple[Mode, ...] = ("0", "1", "2", "3", "live")
MOST_FIRST_SECONDS: dict[Mode, float] = {"live": 0.25}
MOST_REMOVED = 10
MOST_LAST_SECONDS: dict[Mode, float] = {"1": 0.7, "2": 4.0, "live": 0.5}


@dataclass(slots=True)
class Shown:
    """What one reader saw of one answer, in seconds since the model was asked."""

    model_ended_at: float = 0.0
    readable: list[tuple[float, int]] = field(default_factory=list)
    """When something new could be read, and how many characters there were then."""
    requests: int = 0
    refused: int = 0
    removed: int = 0
    """Letters and digits that were shown and taken away again."""

    @property
    def first_seconds(self) -> float:
        return self.readable[0][0]

    @property
    def last_seconds(self) -> float:
        """After the model's end."""
        return max(0.0, self.readable[-1][0] - self.model_ended_at)

    @property
    def longest_silence_seconds(self) -> float:
        """Between two changes, while the answer was under way."""
        times = [at for at, _length in self.readable]
        return max((after - at for at, after in pairwise(times)), default=0.0)


@dataclass(frozen=True, slots=True)
class ReaderView:
    """All documents in one mode."""

    mode: Mode
    documents: int
    first_s: float
    last_s: float
    worst_last_s: float
    silence_s: float
    requests: float
    refused: int
    all_requests: int
    removed: int = 0

    @property
    def refused_share(self) -> float:
        return self.refused / self.all_requests

    @property
    def flagged(self) -> bool:
        late = self.last_s > MOST_LAST_SECONDS.get(self.mode, float("inf"))
        slow = self.first_s > MOST_FIRST_SECONDS.get(self.mode, float("inf"))
        wasteful = self.removed > MOST_REMOVED or self.refused_share > MOST_REFUSED
        return late or slow or wasteful


class SteadyModel(Tap):
    """Says one document, a token every 25 ms."""

    def __init__(self, document: str, shown: Shown) -> None:
        super().__init__([Chunk("text", token) for token in cut(document)])
        self._shown = shown

    async def open(self, _request: Any = None) -> AsyncIterator[Chunk]:
        began = _now()
        for number, chunk in enumerate(self._chunks, start=1):
            await asyncio.sleep(began + number / TOKENS_PER_SECOND - _now())
            yield chunk
        self._shown.model_ended_at = _now()
        yield Chunk("done", finish_reason="stop")


class LimitedChannel(NullSink):
    """A channel with Discord's buckets, and a reader who looks at it."""

    def __init__(self, shown: Shown) -> None:
        super().__init__()
        self.contents: dict[int, str] = {}
        self._shown = shown
        self._limits = RateLimits(_now, scale=1.0)
        self._rooms: dict[RequestKind, RequestRoom] = {}

    def room(self, kind: RequestKind) -> RequestRoom | None:
        return self._rooms.get(kind)

    async def send(self, post: Post, wire: WireState) -> Sent:
        await self._request(MESSAGE_CREATE_LIMIT, wire, "send")
        self.sent += 1
        self._show(self.sent, post)
        return Sent(self.sent)

    async def edit(self, sent: Sent, post: Post, wire: WireState) -> None:
        await self._request(MESSAGE_EDIT_LIMIT, wire, "edit")
        assert sent.id is not None
        self._show(sent.id, post)

    async def delete(self, sent: Sent, wire: WireState) -> None:
        await self._request(MESSAGE_DELETE_LIMIT, wire)
        assert sent.id is not None
        self._shown.removed += removed(self.contents.pop(sent.id), "")

    async def typing(self, _ms: int | None) -> None:
        room = self._rooms.get("typing")
        if room is None or not room.is_empty(_now()):
            await self._request(TYPING_LIMIT, WireState(_now()), "typing")

    def _show(self, message_id: int, post: Post) -> None:
        self._shown.removed += removed(self.contents.get(message_id, ""), post.content)
        self.contents[message_id] = post.content
        length = sum(map(len, self.contents.values()))
        self._shown.readable.append((_now(), length))

    async def _request(
        self, limit: RateLimit, wire: WireState, kind: RequestKind | None = None
    ) -> None:
        while True:
            self._shown.requests += 1
            await asyncio.sleep(REQUEST_SECONDS / 2)
            try:
                headers = self._limits.enter(limit, "", global_too=True)
            except RefusalError as refused:
                self._shown.refused += 1
                wire.hold()
                await asyncio.sleep(REQUEST_SECONDS / 2 + float(refused.headers["Retry-After"]))
                wire.leave(_now())
                continue
            await asyncio.sleep(REQUEST_SECONDS / 2)
            known = room_of_headers(headers, _now() - REQUEST_SECONDS / 2)
            if kind is not None and known is not None:
                self._rooms[kind] = known
            return


def removed(before: str, after: str) -> int:
    """How many letters and digits were taken away. What is put between others takes none away."""
    old, new = ([char for char in text if char.isalnum()] for text in (before, after))
    most = min(len(old), len(new))
    begin = next((at for at in range(most) if old[at] != new[at]), most)
    most -= begin
    end = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    return len(old) - begin - end


def documents() -> list[str]:
    """Descriptions of installed packages, of the length of an answer."""
    texts = map(_as_answer, readmes()["markdown"])
    return [text for text in texts if SHORTEST <= len(text) <= LONGEST][:DOCUMENTS]


def _as_answer(text: str) -> str:
    """Without the badges and the HTML that no model writes."""
    lines = [line for line in text.splitlines() if not _DECORATION.search(line)]
    return "\n".join(lines).strip()


def run(texts: Sequence[str], play: Callable[[str, Mode], Shown] | None = None) -> list[ReaderView]:
    play = play or shown
    return [_view(mode, [play(text, mode) for text in texts]) for mode in MODES]


def shown(text: str, mode: Mode) -> Shown:
    """What a reader sees of one document."""
    return run_virtual(_shown(text, mode))


async def _shown(text: str, mode: Mode) -> Shown:
    seen = Shown()
    config = StreamConfig(
        text=TextConfig(humanizer_degree=1 if mode == "live" else int(mode)),
        delivery="live" if mode == "live" else "messages",
        render_tables=False,
    )
    context = StreamContext(channel="reader")
    result = await stream_to_sink(
        SteadyModel(text, seen), None, config, context, LimitedChannel(seen)
    )
    if result.status != "completed" or result.ledger.problems():
        raise RuntimeError(f"a document was not delivered: {result.status}, {result.data}")
    return seen


def _view(mode: Mode, seen: Sequence[Shown]) -> ReaderView:
    return ReaderView(
        mode,
        documents=len(seen),
        first_s=median(one.first_seconds for one in seen),
        last_s=median(one.last_seconds for one in seen),
        worst_last_s=max(one.last_seconds for one in seen),
        silence_s=median(one.longest_silence_seconds for one in seen),
        requests=median(one.requests for one in seen),
        refused=sum(one.refused for one in seen),
        all_requests=sum(one.requests for one in seen),
        removed=sum(one.removed for one in seen),
    )


def _now() -> float:
    return asyncio.get_running_loop().time()
