"""Finds the stretch of visible text that each message was made from, and why it was cut there."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, pairwise
from typing import Any

from oshaberi import Decision
from oshaberi.delivery.ledger import DELIVERED
from oshaberi.delivery.ledger import LedgerEntry as Line
from oshaberi.delivery.recording_sink import RecordedPost
from oshaberi.events import Identity, Message, Span, Table, Withheld
from oshaberi.inspector.decisions import (
    ENDS,
    KEPT_BACK,
    RELEASES,
    TRANSFORMS,
    describe_fate,
    quoted,
    reason_to_cut,
)
from oshaberi.inspector.engine_recorder import Entry
from oshaberi.scenes.playback import PlayedScene
from oshaberi.terminal_output import counted

# Finds which boundaries waited for an open marker, how long, and what released them.


Timed = tuple[Entry, int]


@dataclass(slots=True)
class Hold:
    """A line or sentence that could have ended at position `at` of V, but had to wait."""

    marker: str
    at: int
    from_ms: int
    until_ms: int | None = None
    rule: str = ""
    why: str = ""

    def release(self, rule: str, marker: str, at_ms: int) -> None:
        self.until_ms, self.rule = at_ms, rule
        self.why = RELEASES[rule].format(quoted(marker)) if rule else "The text was cut first."


def holds_in(entries: Iterable[Timed]) -> list[Hold]:
    holds: list[Hold] = []
    for entry, at_ms in entries:
        if not isinstance(entry, Decision):
            continue
        if entry.kind == "hold":
            holds.append(Hold(entry.what, entry.at, at_ms))
        elif entry.kind == "release":
            for hold in _open(holds):
                hold.release(entry.why, entry.what, at_ms)
        elif entry.kind == "boundary":
            for hold in _open(holds):
                if hold.at < entry.at:
                    hold.release("", hold.marker, at_ms)
    return holds


def _open(holds: list[Hold]) -> list[Hold]:
    return [hold for hold in holds if hold.until_ms is None]


# Finds a message's words in the stretch of visible text that it was made of.


_WORD = re.compile(r"\S+")
_FAR = 400
"""A word that is further away than this is a different occurrence."""


def located(text: str, within: str, span: Span, start: int) -> Span | None:
    """Find `text` in `within[span]` from `start` on: as it is, or word by word.

    Words may have changed (a name became a mention): the span of those found is returned, else
    None.
    """
    at = within.find(text, start, span[1])
    if at >= 0:
        return at, at + len(text)
    first, end = -1, start
    low = within.lower() if len(within.lower()) == len(within) else within
    for word in _WORD.findall(text.lower()):
        at = low.find(word, end, min(span[1], end + _FAR))
        if at >= 0:
            first, end = (at if first < 0 else first), at + len(word)
    return (first, end) if first >= 0 else None


def trimmed(text: str, span: Span) -> Span:
    """Return the span without the white space at its ends."""
    start, end = span
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


# Writes one sentence per message: why it was cut there, and how long it waited.


AT_ONCE_MS = 50
LONG_MS = 500
NOTICE = "A notice of the bot, not text of the model"
LABEL = "Says who speaks, because there is no webhook that could show it"
OVERDUE_FILE = "The rest, as a file: the limit of messages was reached"

Made = Mapping[str, Any]


def why(
    message: Made, events: Sequence[Message | Table], holds: Sequence[Hold], siblings: int
) -> str:
    """Explain a message. `message` is its trace, `events` are the engine's events in it."""
    return "; ".join([_end(message, events), *_more(message, events, holds, siblings)]) + "."


def _end(message: Made, events: Sequence[Message | Table]) -> str:
    if message["kind"] == "notice":
        return NOTICE
    if not events:
        return LABEL
    if len(events) > 1 and message["files"]:
        return OVERDUE_FILE
    last = events[-1]
    if isinstance(last, Table):
        return f"A whole table, as {_table_form(message)}"
    return ENDS[last.boundary]


def _table_form(message: Made) -> str:
    if not message["files"]:
        return "aligned code"
    return "a picture" if message["files"][0]["width"] else "a file: it is too long for pictures"


def _more(
    message: Made, events: Sequence[Message | Table], holds: Sequence[Hold], siblings: int
) -> Iterator[str]:
    if siblings > 1:
        yield f"one of {siblings} messages from the same segment"
    for marker in dict.fromkeys(hold.marker for hold in holds if hold.rule == "H1"):
        yield f"held together while {quoted(marker)} was open"
    for marker in dict.fromkeys(hold.marker for hold in holds if hold.rule in ("H2", "H3")):
        yield f"waited in vain for {quoted(marker)} to be closed"
    if message["edits"]:
        yield f"grew by {counted(len(message['edits']), 'edit')}"
    elif len(events) > 1 and not message["files"]:
        yield f"{counted(len(events), 'text')} joined, because sending was too slow"
    face = next((e.identity for e in events if e.identity is not None), None)
    if face is not None:
        yield _face(face)
    yield from _waits(message)


def _face(identity: Identity) -> str:
    if identity.kind == "copied":
        return f"with somebody else's name and avatar, {identity.username}"
    return f"with the sprite {quoted(identity.sprite or identity.username)}"


def _waits(message: Made) -> Iterator[str]:
    if message["queued_ms"] >= LONG_MS:
        yield f"{message['queued_ms'] / 1000:.1f} s in the queue"
    at_once = message["wait_ms"] < AT_ONCE_MS
    yield "sent at once" if at_once else f"waited {message['wait_ms'] / 1000:.1f} s"


# Finds from which stretch of the visible text each message in the channel was made.


Json = dict[str, Any]


class MessageOrigins:
    """Combines the engine's events, the ledger and the posted messages."""

    def __init__(
        self, text: str, played: PlayedScene, entries: Sequence[Timed], holds: Sequence[Hold]
    ) -> None:
        self._text = text
        self._played = played
        self._entries = entries
        self._holds = holds
        self._typing, self._edits = _waits_and_edits(played)
        self._said = [(e, at) for e, at in entries if _was_to_be_sent(e)]
        self._sources = list(self._located())
        self._by_post = self._events_by_post()

    # -- which text went where ------------------------------------------------------------------

    @property
    def _lines(self) -> list[Line]:
        return [line for line in self._played.result.ledger.entries if line.expected]

    def _located(self) -> Iterator[Span]:
        """Yield the part of the segment that belongs to each event that should be sent.

        The parts cover the whole segment: each begins where its words do.
        """
        events = [e for e, _ in self._said if isinstance(e, Message | Table | Withheld)]
        for _, group in groupby(events, lambda event: event.segment):
            siblings = list(group)
            start, end = trimmed(self._text, siblings[0].span)
            starts = [start]
            for event, following in pairwise(siblings):
                found = located(_words(event), self._text, event.span, starts[-1])
                behind = found[1] if found else starts[-1]
                at = located(_words(following), self._text, event.span, behind)
                starts.append(at[0] if at else behind)
            yield from (trimmed(self._text, pair) for pair in pairwise([*starts, end]))

    def _events_by_post(self) -> dict[int, list[int]]:
        """Return the numbers of the events in each post, by the post's id."""
        found: dict[int, list[int]] = defaultdict(list)
        for number, line in enumerate(self._lines[: len(self._said)]):
            if line.message_id is not None:
                found[line.message_id].append(number)
        # A table as code may take several messages: the ledger knows the last of them.
        following: list[int] = []
        for posted in reversed(self._played.posted):
            if found.get(posted.id):
                following = found[posted.id]
            elif following and posted.post.content.startswith("```") and self._is_table(following):
                found[posted.id] = following
        return found

    def _is_table(self, numbers: Sequence[int]) -> bool:
        return isinstance(self._said[numbers[0]][0], Table)

    # -- the description ---------------------------------------------------------------------------

    def messages(self) -> list[Json]:
        made: list[Json] = []
        for posted in self._played.posted:
            if posted.deleted:
                continue
            made.append(self._message(len(made) + 1, posted, made[-1]["at_ms"] if made else 0))
        return made

    def _message(self, number: int, posted: RecordedPost, turn_ms: int) -> Json:
        post, numbers = posted.post, self._by_post.get(posted.id, [])
        events = [e for n in numbers if isinstance(e := self._said[n][0], Message | Table)]
        spans = list(dict.fromkeys(event.span for event in events))
        face = events[0].identity if events else None
        at_ms = round(posted.at * 1000)
        ready_ms = min((self._said[n][1] for n in numbers), default=at_ms)
        made: Json = {
            "number": number,
            "kind": "notice" if post.embed else "file" if post.files else "text",
            "text": post.content,
            "embed": asdict(post.embed) if post.embed else None,
            "files": [_file(one) for one in post.files],
            "at_ms": at_ms,
            "ready_ms": ready_ms,
            "queued_ms": max(0, turn_ms - ready_ms),
            "wait_ms": max(0, at_ms - max(ready_ms, min(turn_ms, at_ms))),
            "typing_ms": self._typing.get(posted.id, 0),
            "edits": self._edits.get(posted.id, []),
            "via": post.via,
            "username": post.face.username if post.face else None,
            "avatar_url": post.face.avatar_url if post.face else None,
            "reply": post.reply,
            "identity": asdict(face) if face else None,
            "boundary": _boundary(events),
            "spans": spans,
            "sources": [self._sources[n] for n in numbers],
        }
        holds = self._holds_in(spans)
        made["holds"] = [self._holds.index(hold) for hold in holds]
        made["changes"] = list(self._changes(spans, events))
        made["cuts"] = list(dict.fromkeys(self._cuts(spans)))
        made["why"] = why(made, events, holds, self._siblings(events))
        return made

    def _siblings(self, events: Sequence[Message | Table]) -> int:
        """Return how many messages this stretch of text became."""
        if len(events) != 1:
            return 1
        mine = events[0].segment
        return sum(isinstance(e, Message | Table) and e.segment == mine for e, _ in self._said)

    def _holds_in(self, spans: Sequence[Span]) -> list[Hold]:
        return [hold for hold in self._holds if _within(hold.at, spans)]

    def _decisions(self, kind: str, spans: Sequence[Span]) -> Iterator[Decision]:
        for entry, _ in self._entries:
            if isinstance(entry, Decision) and entry.kind == kind and _within(entry.at, spans):
                yield entry

    def _changes(self, spans: Sequence[Span], events: Sequence[Message | Table]) -> Iterator[Json]:
        texts = {_words(event) for event in events}
        for made in self._decisions("transform", spans):
            if made.why == "humanize" and made.after not in texts:
                continue
            told = TRANSFORMS.get(made.why, made.why)
            yield {"name": made.why, "why": told, "before": made.before, "after": made.after}

    def _cuts(self, spans: Sequence[Span]) -> Iterator[str]:
        return (f"{reason_to_cut(cut)}." for cut in self._decisions("cut", spans))

    def lost(self) -> list[Json]:
        """Return unsent text that should have been sent. `is_open`: its line was unfinished."""
        return [
            {
                "text": line.text,
                "fate": line.fate,
                "why": describe_fate(line.fate),
                "is_open": isinstance(event, Withheld),
                "span": line.span,
                "source": source,
            }
            for line, source, (event, _) in zip(
                self._lines, self._sources, self._said, strict=False
            )
            if line.fate != DELIVERED
        ]

    def withheld(self) -> list[Json]:
        """Return the text that the engine withheld on purpose."""
        found: list[Json] = []
        start: dict[int, int] = {}
        for line in self._played.result.ledger.entries:
            if line.expected:
                continue
            begin = start.get(line.segment, line.span[0])
            source = located(line.text, self._text, line.span, begin)
            start[line.segment] = source[1] if source else begin
            told = KEPT_BACK.get(line.fate or "", describe_fate(line.fate))
            found.append(
                {
                    "text": line.text,
                    "reason": line.fate,
                    "why": told,
                    "span": line.span,
                    "source": source or line.span,
                }
            )
        return found


def _was_to_be_sent(entry: Entry) -> bool:
    """Return whether the ledger expects the text, even if a follow-up or a stop dropped it."""
    if isinstance(entry, Withheld):
        return entry.reason in ("follow_up", "incomplete_clause")
    return isinstance(entry, Message | Table)


def _words(event: Message | Table | Withheld) -> str:
    return event.source if isinstance(event, Table) else event.text


def _boundary(events: Sequence[Message | Table]) -> str | None:
    if not events:
        return None
    last = events[-1]
    return "attachment" if isinstance(last, Table) else last.boundary


def _within(at: int, spans: Sequence[Span]) -> bool:
    return any(start < at <= end for start, end in spans)


def _file(file: Any) -> Json:
    return {
        "name": file.name,
        "source": file.source,
        "alt": file.alt,
        "width": file.width,
        "height": file.height,
        "bytes": len(file.content),
    }


def _waits_and_edits(played: PlayedScene) -> tuple[dict[int, int], dict[int, list[Json]]]:
    """Assign typing times to the post that follows, and edits to the post they name."""
    typing: dict[int, int] = {}
    edits: dict[int, list[Json]] = defaultdict(list)
    posts, pending, shown = iter(played.posted), 0, 0
    for record in played.records:
        if record["kind"] == "typing":
            pending += record["ms"]
        elif record["kind"] == "edit":
            edits[record["id"]].append({"at_ms": record["at_ms"], "text": record["content"]})
        elif record["kind"] not in ("reply_notice", "delete"):
            # A post has one record for each part of it. The first one has its start.
            if not shown:
                posted = next(posts)
                typing[posted.id], pending = pending, 0
                shown = len(posted.post.files) + bool(posted.post.embed)
                shown += any(
                    r["kind"] == "message" and r["id"] == posted.id for r in played.records
                )
            shown -= 1
    return typing, edits
