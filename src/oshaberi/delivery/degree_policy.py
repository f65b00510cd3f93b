"""The table of what each degree means for delivery (spec 00, degrees)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from oshaberi.delivery.stream_config import StreamConfig


@dataclass(frozen=True, slots=True)
class DegreePolicy:
    """How the messages of one degree are delivered."""

    name: str
    delivery: Literal["aggregated", "streaming"]
    types: bool
    humanises: bool


POLICIES = (
    DegreePolicy("NONE", "aggregated", types=False, humanises=False),
    DegreePolicy("LIGHT", "streaming", types=False, humanises=False),
    DegreePolicy("MEDIUM", "streaming", types=True, humanises=False),
    DegreePolicy("HEAVY", "streaming", types=True, humanises=True),
)


def policy_of(config: StreamConfig) -> DegreePolicy:
    return POLICIES[config.text.humanizer_degree]


def paces(config: StreamConfig) -> bool:
    """Tell whether messages wait for simulated typing. Live mode never does."""
    return policy_of(config).types and config.delivery == "messages"
