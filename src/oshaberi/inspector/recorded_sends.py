"""What was actually sent to Discord during a stream: every attempt at every message.

Nothing here is computed: times, statuses and faults come from the stage's request log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from discord_stage.requests.request_log import RequestRecord
from oshaberi.delivery.response import LimitWait

SENDS = ("POST /channels/*/messages", "POST /webhooks/*/*")
OK = 200
LATE_S = 2.0
"""How long after a stream's end its last messages and notices may still be sent."""

UNDER_WAY_S = 0.1

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SendTry:
    """One request. Times count from the start of the stream; `told` says how it ended.

    `waited_ms` is how long the request was held back before, because of Discord's limits.
    """

    at_ms: int
    waited_ms: int
    answered_ms: int | None
    status: int | None
    code: int
    told: str


@dataclass(frozen=True, slots=True)
class RecordedSend:
    """One message and its tries; `sent_ms` is None if none of them succeeded."""

    content: str
    notice: str | None
    """The title of its embed, if it is one of the bot's own notices."""
    via: str
    tries: tuple[SendTry, ...]
    sent_ms: int | None

    def as_json(self) -> Json:
        return asdict(self)


def recorded_sends(
    records: Iterable[RequestRecord],
    channel_id: int,
    began_s: float,
    until_s: float,
    waits: Sequence[LimitWait] = (),
) -> list[RecordedSend]:
    """Return the messages sent to a channel in this time, in the order of their first attempts."""
    groups: list[list[RequestRecord]] = []
    newest: dict[str, list[RequestRecord]] = {}
    for record in records:
        if not (began_s <= record.at <= until_s + LATE_S and _is_send_to(record, channel_id)):
            continue
        key = _key(record)
        if key in newest and _is_another_try(record, newest[key]):
            newest[key].append(record)
        else:
            newest[key] = [record]
            groups.append(newest[key])
    return [_send(group, began_s, waits) for group in groups]


def _is_send_to(record: RequestRecord, channel_id: int) -> bool:
    is_send = any(fnmatchcase(record.name, send) for send in SENDS)
    return is_send and record.channel_id == channel_id


def _key(record: RequestRecord) -> str:
    nonce = record.body.get("nonce")
    return f"{record.path} {record.body.get('content') if nonce is None else nonce}"


def _is_another_try(record: RequestRecord, before: Sequence[RequestRecord]) -> bool:
    """Return whether a request repeats another: by its nonce or, for a webhook, after a failure."""
    return record.body.get("nonce") is not None or not _succeeded(before[-1])


def _send(
    group: Sequence[RequestRecord], began_s: float, waits: Sequence[LimitWait]
) -> RecordedSend:
    tries = tuple(_try(record, began_s, waits) for record in group)
    body = group[-1].body
    return RecordedSend(
        content=str(body.get("content") or ""),
        notice=_title(body.get("embeds")),
        via="webhook" if "/webhooks/" in group[-1].path else "bot",
        tries=tries,
        sent_ms=tries[-1].at_ms if _succeeded(group[-1]) else None,
    )


def _title(embeds: Any) -> str | None:
    first = embeds[0] if isinstance(embeds, list) and embeds else None
    return str(first.get("title") or "") if isinstance(first, dict) else None


def _try(record: RequestRecord, began_s: float, waits: Sequence[LimitWait]) -> SendTry:
    return SendTry(
        at_ms=_ms(record.at - began_s),
        waited_ms=_ms(_waited_s(record, waits)),
        answered_ms=None if record.ended_at is None else _ms(record.ended_at - began_s),
        status=record.status,
        code=record.code,
        told=_describe_outcome(record),
    )


def _waited_s(record: RequestRecord, waits: Sequence[LimitWait]) -> float:
    """Return how long a request was held back. The stage notices it a moment after it is sent."""
    left = (wait for wait in waits if 0 <= record.at - wait.left_at <= UNDER_WAY_S)
    return next((wait.left_at - wait.wanted_at for wait in left), 0.0)


def _describe_outcome(record: RequestRecord) -> str:
    code = f", code {record.code}" if record.code else ""
    match record.status:
        case None:
            return "no answer yet"
        case 0:
            return "the connection broke"
        case 429:
            return f"a rate limit (429{code})"
        case status if _succeeded(record):
            return f"sent ({status})"
        case status:
            return f"refused ({status}{code})"


def _succeeded(record: RequestRecord) -> bool:
    return record.status is not None and OK <= record.status < 300


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
