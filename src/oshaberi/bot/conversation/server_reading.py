"""What can be read elsewhere on a server: targets of links, messages found by a search, events."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from oshaberi.errors import OshaberiError

MOST_FOUND = 25
"""The most messages that Discord returns for one search."""
LONGEST_SEARCH = 200
"""The longest text to search for."""
SEARCHES_A_MINUTE = 10
_MINUTE_S = 60.0

_HOST = r"https://(?:(?:canary|ptb)\.)?discord(?:app)?\.com"
_MESSAGE = re.compile(rf"{_HOST}/channels/(\d{{1,20}})/(\d{{1,20}})/(\d{{1,20}})(?!\d)")
_EVENT = re.compile(
    rf"{_HOST}/events/(\d{{1,20}})/(\d{{1,20}})(?!\d)"
    r"|https://discord\.gg/[\w-]{1,64}\?event=(\d{1,20})(?!\d)"
)


@dataclass(frozen=True, slots=True)
class DiscordLink:
    """A link to a message, or to an event if `channel_id` is 0."""

    server_id: int
    """0 if the link does not name it."""
    channel_id: int
    target_id: int
    is_own: bool = False
    """Whether the member for whom it is followed has just written it themselves."""


def links_in(text: str, *, is_own: bool = False) -> Iterator[DiscordLink]:
    """Yield the links to messages, then those to events."""
    if "https://" not in text:
        return
    for found in _MESSAGE.finditer(text):
        yield DiscordLink(int(found[1]), int(found[2]), int(found[3]), is_own)
    for found in _EVENT.finditer(text):
        server_id, event_id = found[1] or 0, found[2] or found[3]
        yield DiscordLink(int(server_id), 0, int(event_id), is_own)


def distinct_links(links: Iterable[DiscordLink], most: int) -> list[DiscordLink]:
    """Return the first links, each once; the member's own link before the same of others."""
    found: dict[tuple[int, int], DiscordLink] = {}
    for link in links:
        key = link.channel_id, link.target_id
        if key in found:
            found[key] = link if link.is_own else found[key]
        elif len(found) < most:
            found[key] = link
    return list(found.values())


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """A scheduled event. Members wrote all of its texts."""

    name: str
    begins: datetime
    link: str
    ends: datetime | None = None
    place: str = ""
    description: str = ""
    state: str = "scheduled"


@dataclass(frozen=True, slots=True)
class MessageSearch:
    """What to search for. A message must match everything that is given."""

    words: str = ""
    author_id: int | None = None
    channel: str = ""
    """The name or the id of a channel; empty for the whole server."""
    after: datetime | None = None
    before: datetime | None = None
    most: int = MOST_FOUND


class SearchFailedError(OshaberiError):
    """A search was not possible. The message says why and may be shown to the model."""


class SearchPace:
    """How often a server may be searched, for all its members together."""

    def __init__(self) -> None:
        self._begun: dict[int, deque[float]] = {}

    def begin(self, server_id: int, now_s: float) -> None:
        """Count a search. Raises SearchFailedError if there were too many."""
        for other in [one for one, times in self._begun.items() if times[-1] < now_s - _MINUTE_S]:
            del self._begun[other]
        times = self._begun.setdefault(server_id, deque(maxlen=SEARCHES_A_MINUTE))
        if len(times) == SEARCHES_A_MINUTE and times[0] > now_s - _MINUTE_S:
            raise SearchFailedError("there were too many searches here; wait a minute")
        times.append(now_s)
