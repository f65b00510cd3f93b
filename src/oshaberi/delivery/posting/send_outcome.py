"""The ways in which sending one message can end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from oshaberi.delivery.queue.message_limits import Limit
from oshaberi.delivery.sink import DiscordRefusalError, Sent


@dataclass(frozen=True, slots=True)
class Delivered:
    """It is there, once."""

    sent: Sent


@dataclass(frozen=True, slots=True)
class Refused:
    """Discord does not want this message; others may pass."""

    error: DiscordRefusalError


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The channel cannot be written to any more. An earlier attempt may have arrived."""

    error: DiscordRefusalError
    uncertain: bool = False


@dataclass(frozen=True, slots=True)
class Uncertain:
    """Nobody can say whether it arrived, so it is not sent again."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Failed:
    """The sink is broken. `uncertain`: the message may have arrived all the same."""

    error: Exception
    uncertain: bool


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A stop came before it left."""


@dataclass(frozen=True, slots=True)
class NoWebhook:
    """It has a face, and no webhook to wear it: none is to be had, or it keeps failing.

    It is certain that the message is not there.
    """


@dataclass(frozen=True, slots=True)
class Gone:
    """The message to be edited is not there any more, or too old: send a new one."""


Outcome = Delivered | Refused | Unavailable | Uncertain | Failed | Withdrawn | NoWebhook
EditOutcome = Delivered | Refused | Unavailable | Uncertain | Failed | Withdrawn | Gone


@dataclass(frozen=True, slots=True)
class Broken:
    """Why delivery cannot go on."""

    reason: Limit | Literal["channel_unavailable", "error"]
    error: Exception | None = None
