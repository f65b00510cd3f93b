"""Writes one sentence per message: why it was cut there, and how long it waited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oshaberi.events import Identity, Message, Table
from oshaberi.inspector.decision_steps import quoted
from oshaberi.inspector.decision_words import ENDS
from oshaberi.inspector.hold_times import Hold
from oshaberi.terminal_output import counted

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
