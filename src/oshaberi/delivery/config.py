"""The settings of steps 04 and 07b, and what they mean together: degrees, live mode, pacing.

The settings of the text itself are in `text`. So is the meaning of a degree for it:
`text.messages.packing` collects it at degree 0, `text.messages.humanize` makes it casual at degree
3.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Literal

from oshaberi.errors import Sentence
from oshaberi.text.config import (
    TextConfig,
    check_fields,
    choice,
    fraction,
    not_allowed,
    number,
    switch,
)

DAY_MS = 86_400_000
MOST_FLUSHES = 1000
"""The highest `max_flush_count`."""


@dataclass(frozen=True, slots=True)
class StreamConfig:
    """The settings by which one stream is read, paced and sent."""

    text: TextConfig = field(default_factory=TextConfig)

    delivery: str = choice(
        "messages", ("messages", "live"), "separate messages, or one message that grows by edits"
    )
    send_message_limit: int = number(
        0, 0, 40, "stop after this many messages per response; 0 is no limit"
    )
    on_limit: str = choice(
        "stop", ("stop", "file"), "at `max_flush_count`: stop, or attach the rest as a file"
    )
    join_when_blocked: bool = switch(
        True, "join lines that Discord's rate limit would delay; off: they wait for it"
    )
    notify: str = choice("all", ("all", "first", "last"), "which messages may notify")
    suppress_embeds: bool = switch(False, "hide link previews")
    render_tables: bool = switch(
        True, "send tables as pictures, else as aligned code; very long tables as a file"
    )

    display_mode: str = field(
        default="persona",
        metadata={
            "text": True,
            "server_longest": 100,
            "what": "how messages look: `persona` (its name and avatar), or the name of a plug-in",
        },
    )

    base_type_speed_ms_per_char: int = number(10, 0, 200, "typing time per character, in ms")
    max_typing_time_ms: int = number(4000, 0, 30_000, "maximum typing time of a message, in ms")
    min_visible_typing_duration_ms: int = number(
        750, 0, 10_000, "minimum typing time of a message, in ms"
    )
    thinking_pause_chance: float = fraction(0.25, "chance that a thinking pause precedes a message")
    min_random_pause_ms: int = number(250, 0, 10_000, "minimum thinking pause, in ms")
    max_random_pause_ms: int = number(1500, 0, 10_000, "maximum thinking pause, in ms")
    max_backlog_ms: int = number(
        4000, 0, 60_000, "maximum sum of the simulated waits of queued messages, in ms"
    )

    inactivity_timeout_ms: int = number(
        120_000,
        1000,
        DAY_MS,
        "give up if the model sends nothing for this many ms",
        server_high=600_000,
    )
    max_thinking_ms: int = number(
        300_000, 1000, DAY_MS, "give up if the model thinks this many ms without a visible word"
    )
    max_answer_ms: int = number(
        3_600_000,
        1000,
        DAY_MS,
        "give up if the model has not ended its answer after this many ms; waits for Discord do "
        "not count",
    )
    stream_chunk_dedup_min_chars: int = number(
        8, 1, 4096, "shortest repeated text that counts as a re-emission, in characters"
    )
    stream_chunk_dedup_tail_chars: int = number(
        4096, 8, 65_536, "how far back to look for a re-emission, in characters"
    )
    suppress_user_errors: bool = switch(False, "post no notice when the model fails")
    suppress_text_output: bool = switch(False, "send no text to the channel")

    def __post_init__(self) -> None:
        check_fields(self)
        if self.min_random_pause_ms > self.max_random_pause_ms:
            most = Sentence("at most max_random_pause_ms, {most}", most=self.max_random_pause_ms)
            raise not_allowed("min_random_pause_ms", self.min_random_pause_ms, most)


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
    """Return whether the text of a message is collected until it is complete, without edits."""
    return config.delivery == "live" and config.notify == "last"


def shows_unfinished(config: StreamConfig) -> bool:
    """Return whether unfinished text is shown: in live mode, unless the settings make it wait."""
    return grows(config) and not config.suppress_text_output


def text_config(config: StreamConfig) -> TextConfig:
    """Return the settings of the text engine.

    In live mode lines join the growing message, so the engine packs none: packed text would be
    known too late to be shown in the right message.
    """
    return replace(config.text, max_flush_count=MOST_FLUSHES) if grows(config) else config.text


LIVE_WITHOUT_MODE = Sentence('delivery = "live" shows no display_mode but "persona"')


def live_remark(config: StreamConfig) -> str:
    """Return why live mode does not work as one might expect; empty if it does."""
    if config.delivery != "live":
        return ""
    if config.notify == "last":
        return LIVE_WITHOUT_GROWTH
    return LIVE_WITHOUT_MODE if config.display_mode != "persona" else ""


def paces(config: StreamConfig) -> bool:
    """Return whether messages wait for simulated typing. Live mode never does."""
    return policy_of(config).types and config.delivery == "messages"
