"""The ids of the running turn, for every line that is logged meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TurnIds:
    """Where a turn runs and for whom. `server_id` is 0 in a direct message.

    `turn` is empty while the question waits. It is also the id of the turn's streams.
    """

    server_id: int
    channel_id: int
    user_id: int
    turn: str = ""

    def fields(self) -> Mapping[str, str]:
        """Return the known ids by name."""
        every = {
            "server": str(self.server_id or ""),
            "channel": str(self.channel_id),
            "user": str(self.user_id),
            "turn": self.turn,
        }
        return {name: value for name, value in every.items() if value}


_CURRENT: ContextVar[TurnIds | None] = ContextVar("turn_ids", default=None)


@contextmanager
def of_turn(ids: TurnIds) -> Iterator[None]:
    """Put these ids on all lines logged inside the block, also by tasks that start inside it."""
    token = _CURRENT.set(ids)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def turn_fields() -> Mapping[str, str]:
    """Return the ids of the current turn by name; nothing outside of a turn."""
    ids = _CURRENT.get()
    return {} if ids is None else ids.fields()
