"""The ways in which sending one message can end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from oshaberi.delivery.queue.message_limits import Limit
from oshaberi.delivery.sink import DiscordRefusalError, Sent


@dataclass(frozen=True, slots=True)
class Delivered:
    """The message was sent, exactly once."""

    sent: Sent


@dataclass(frozen=True, slots=True)
class Refused:
    """Discord refused this message; others may be accepted."""

    error: DiscordRefusalError


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The channel can no longer be written to. `uncertain`: an earlier attempt may have arrived."""

    error: DiscordRefusalError
    uncertain: bool = False


@dataclass(frozen=True, slots=True)
class Uncertain:
    """It is unknown whether the message arrived, so it is not sent again."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Failed:
    """The sink is broken. `uncertain`: the message may have arrived anyway."""

    error: Exception
    uncertain: bool


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A stop came before the message was sent."""


@dataclass(frozen=True, slots=True)
class NoWebhook:
    """The message needs a webhook, and there is none or it keeps failing.

    The message was certainly not sent.
    """


@dataclass(frozen=True, slots=True)
class Gone:
    """The message to be edited was deleted or is too old. Send a new one."""


Outcome = Delivered | Refused | Unavailable | Uncertain | Failed | Withdrawn | NoWebhook
EditOutcome = Delivered | Refused | Unavailable | Uncertain | Failed | Withdrawn | Gone


@dataclass(frozen=True, slots=True)
class Broken:
    """The reason why delivery cannot continue."""

    reason: Limit | Literal["channel_unavailable", "error"]
    error: Exception | None = None
