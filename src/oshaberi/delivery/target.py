"""Where an answer goes: the sink, and what is known of the place. Made by each Discord library."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from oshaberi.delivery.sink import Sink
from oshaberi.text.config import Known, Persona


async def _nothing_to_close() -> None:
    return


@dataclass(frozen=True, slots=True)
class DeliveryTarget:
    """A sink with the answer's surroundings. `close` is called after the answer's last stream."""

    sink: Sink
    channel: str
    """The id of the channel, by which an answer is stopped."""
    replies: bool = False
    """Whether the first message replies to another; the sink knows to which."""
    known: tuple[Known, ...] = ()
    emojis: tuple[str, ...] = ()
    persona: Persona | None = None
    """Who speaks if the caller does not say it: the name of a webhook."""
    close: Callable[[], Awaitable[None]] = _nothing_to_close
