"""What each degree means for delivery, and how long a person would type a message. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Literal

from oshaberi.delivery.config import StreamConfig
from oshaberi.errors import Sentence

# The table of what each degree means for delivery: sent at the end or at once, typed or not.
#
# What a degree means for the text is decided there: `text.messages.packing` collects it
# at degree 0, `text.messages.humanize` words it casually at degree 3.


@dataclass(frozen=True, slots=True)
class DegreePolicy:
    """How the messages of one degree are delivered."""

    name: str
    delivery: Literal["aggregated", "streaming"]
    types: bool


POLICIES: Final = (
    DegreePolicy("NONE", "aggregated", types=False),
    DegreePolicy("LIGHT", "streaming", types=False),
    DegreePolicy("MEDIUM", "streaming", types=True),
    DegreePolicy("HEAVY", "streaming", types=True),
)


def policy_of(config: StreamConfig) -> DegreePolicy:
    return POLICIES[config.text.humanizer_degree]


LIVE_WITHOUT_GROWTH = Sentence(
    'delivery = "live" shows no growing text together with notify = "last": an edit notifies '
    "nobody, so the message that is to notify is sent when it is complete"
)


def grows(config: StreamConfig) -> bool:
    """Return whether a message grows by edits: live mode, unless an edit would have to notify."""
    return config.delivery == "live" and config.notify != "last"


def gathers(config: StreamConfig) -> bool:
    """Return whether the text of a message is collected until it is complete, instead of edits."""
    return config.delivery == "live" and config.notify == "last"


def shows_unfinished(config: StreamConfig) -> bool:
    """Return whether unfinished text is shown: in live mode, unless the settings make it wait."""
    return grows(config) and not config.suppress_text_output


LIVE_WITHOUT_MODE = Sentence('delivery = "live" shows no display_mode but "persona"')


def live_remark(config: StreamConfig) -> str:
    """Return why live mode does not show what one may expect of it; empty if it does."""
    if config.delivery != "live":
        return ""
    if config.notify == "last":
        return LIVE_WITHOUT_GROWTH
    return LIVE_WITHOUT_MODE if config.display_mode != "persona" else ""


def paces(config: StreamConfig) -> bool:
    """Return whether messages wait for simulated typing. Live mode never does."""
    return policy_of(config).types and config.delivery == "messages"


# Computes how long a person would type a message (spec 07, typing simulation). Pure.
#
# Chance comes from the seed and the message's number, so a replay waits exactly as long.


CODE_FACTOR = 1.25


class Wait:
    """A pause, then the typing indicator. `scale` shrinks both when too much is queued."""

    __slots__ = ("pause_ms", "scale", "typing_ms")

    def __init__(self, pause_ms: float, typing_ms: float) -> None:
        self.pause_ms = pause_ms
        self.typing_ms = typing_ms
        self.scale = 1.0

    @property
    def total_ms(self) -> float:
        return (self.pause_ms + self.typing_ms) * self.scale

    def longer_by(self, ms: float) -> Wait:
        """Return a wait that takes this many ms more, all of them with the indicator."""
        return Wait(self.pause_ms * self.scale, self.typing_ms * self.scale + ms)


def typing_ms(text: str, config: StreamConfig) -> float:
    shortest = float(config.min_visible_typing_duration_ms)
    if text.startswith("```"):
        shortest *= CODE_FACTOR
    typed = len(text) * config.base_type_speed_ms_per_char
    return min(max(typed, shortest), config.max_typing_time_ms)


def table_typing_ms(config: StreamConfig) -> float:
    return min(config.min_visible_typing_duration_ms, config.max_typing_time_ms)


def pause_ms(number: int, config: StreamConfig) -> float:
    """Return the thinking pause before a message in ms; mostly 0."""
    if _drawn("chance", number, config) >= config.thinking_pause_chance:
        return 0
    least, most = config.min_random_pause_ms, config.max_random_pause_ms
    return least + int(_drawn("pause", number, config) * (most - least + 1))


def _drawn(what: str, number: int, config: StreamConfig) -> float:
    """Return a number from 0 up to 1. To seed a `random.Random` would take ten times as long."""
    source = f"pace {what} {config.text.seed} {number}".encode()
    return int.from_bytes(blake2b(source, digest_size=4).digest()) / 2**32


def fit(waits: Sequence[Wait], most_ms: float) -> None:
    """Scale the waits of a queue so that together they take at most `most_ms`."""
    total = sum([wait.total_ms for wait in waits])
    if total <= most_ms:
        return
    for wait in waits:
        wait.scale *= most_ms / total
