"""The table of what each degree means for delivery: sent at the end or at once, typed or not.

What a degree means for the text is decided there: `text.messages.message_packing` collects it at
degree 0, `text.messages.humanize` words it casually at degree 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.errors import Sentence


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
    """Tell whether a message grows by edits: in live mode, unless an edit would have to notify."""
    return config.delivery == "live" and config.notify != "last"


def gathers(config: StreamConfig) -> bool:
    """Tell whether the text of a message is collected until it is complete, instead of edits."""
    return config.delivery == "live" and config.notify == "last"


def shows_unfinished(config: StreamConfig) -> bool:
    """Tell whether unfinished text is shown: in live mode, unless the settings make it wait."""
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
    """Tell whether messages wait for simulated typing. Live mode never does."""
    return policy_of(config).types and config.delivery == "messages"
