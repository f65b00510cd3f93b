"""Where a turn runs, for the page: its Stop button is there exactly as long."""

from __future__ import annotations

from oshaberi.stage.control import Extension
from oshaberi.stage.feed import Feed


class Answering:
    """Tells the feed (`ANSWERING`); a page that comes later asks at `/stage/answering`."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._channels: set[int] = set()

    def note(self, channel_id: int, active: bool) -> None:
        if active:
            self._channels.add(channel_id)
        else:
            self._channels.discard(channel_id)
        self._feed.publish("ANSWERING", {"channel_id": str(channel_id), "active": active})

    def extension(self) -> Extension:
        return Extension(read=lambda _asked: [str(channel) for channel in sorted(self._channels)])
