"""The steps that one wire event can contain. `Adapter.read` returns them for `ChunkAssembler`.

Text and thoughts are already `Chunk("text", ...)`; the other steps have to be assembled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from oshaberi.checked_json import whole_count
from oshaberi.chunks import Chunk
from oshaberi.providers.wire.answer_files import FileStep, SoundPiece


class CallPiece(NamedTuple):
    """A piece of a tool call. Pieces with the same `key` belong together; `arguments` is JSON text.

    A call that arrives whole is one piece. Without a key, name and id decide where a piece belongs.
    `is_whole`: these are all the arguments, regardless of earlier pieces. A piece that
    `only_continues` is ignored if its call has not begun.
    """

    key: int | str | None
    name: str = ""
    arguments: str = ""
    id: str | None = None
    is_whole: bool = False
    only_continues: bool = False


class SignedBlock(NamedTuple):
    """Part of an opaque block that the API wants back with the next round.

    Parts with the same `key` are one block: `fixed` fields are set, `grows` fields are appended to.
    An `optional` block is kept only together with others. After a part that `ends` its block, the
    next part with this key begins another one. A part that `only_continues` is ignored if its block
    has not begun. If there is no room for a `droppable` part, nothing is kept, but the answer
    continues.
    """

    key: int | str
    fixed: Mapping[str, Any] = {}
    grows: Mapping[str, str] = {}
    optional: bool = False
    ends: bool = False
    only_continues: bool = False
    droppable: bool = False


class TokenCount(NamedTuple):
    """The API's token count so far; None where this event has no count."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    """How many of the input were read from the API's cache."""
    cache_write_tokens: int | None = None
    """How many of the input were stored in the API's cache."""
    cost_dollars: float | None = None
    """The price of the request, as the API reports it."""


MOST_DOLLARS = 10_000.0
"""The highest credible price of one request."""


def token_count(
    read_in: Iterable[object] = (),
    written: Iterable[object] = (),
    cached: Iterable[object] = (),
    stored: Iterable[object] = (),
    cost_dollars: object = None,
) -> TokenCount:
    """Return an API's counts, each the sum of the given numbers.

    If one of them cannot be a count, none is trusted: the request is estimated instead.
    """
    counted = (read_in, written, cached, stored)
    given = [[one for one in counts if one is not None] for counts in counted]
    if any(whole_count(one) is None for counts in given for one in counts):
        return TokenCount()
    total, out, from_cache, into_cache = map(_total, given)
    return TokenCount(total, out, from_cache, into_cache, _possible_cost(cost_dollars))


def _possible_cost(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return float(given) if 0 <= given <= MOST_DOLLARS else None


def _total(counts: Sequence[object]) -> int | None:
    return whole_count(sum(whole_count(one) or 0 for one in counts)) if counts else None


class CitedPage(NamedTuple):
    """A page that the answer cites, but does not name in its text."""

    url: str
    title: str = ""


class FinishStep(NamedTuple):
    """The end of the answer, with a reason if there is one (`FINISH_REASONS` or the API's own).

    `reason_with_calls` replaces it if the answer has tool calls. A stream without any
    `FinishStep` was cut off.
    """

    reason: str | None = None
    reason_with_calls: str | None = None


Step = Chunk | CallPiece | SignedBlock | TokenCount | CitedPage | FileStep | SoundPiece | FinishStep

PAUSED = "pause_turn"
"""A finish reason that does not end the answer: it continues in another stream."""
