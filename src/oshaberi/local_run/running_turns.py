"""Tells the page in which channels a turn runs, for its Stop button."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oshaberi.stage.control.control_api import ControlExtension


class RunningTurns:
    """Publishes `ANSWERING` on the live feed. A new page asks at `/stage/answering`."""

    def __init__(self, publish: Callable[[str, dict[str, Any]], None]) -> None:
        self._publish = publish
        self._channels: set[int] = set()

    def note(self, channel_id: int, active: bool) -> None:
        if active:
            self._channels.add(channel_id)
        else:
            self._channels.discard(channel_id)
        self._publish("ANSWERING", {"channel_id": str(channel_id), "active": active})

    def extension(self) -> ControlExtension:
        return ControlExtension(
            read=lambda _asked: [str(channel) for channel in sorted(self._channels)]
        )
