"""What each degree means for delivery: one table (spec 00, degrees)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from oshaberi.delivery.config import StreamConfig


@dataclass(frozen=True, slots=True)
class Policy:
    """How the messages of one degree are delivered."""

    name: str
    delivery: Literal["aggregated", "streaming"]
    types: bool
    humanises: bool


POLICIES = (
    Policy("NONE", "aggregated", types=False, humanises=False),
    Policy("LIGHT", "streaming", types=False, humanises=False),
    Policy("MEDIUM", "streaming", types=True, humanises=False),
    Policy("HEAVY", "streaming", types=True, humanises=True),
)


def policy_of(config: StreamConfig) -> Policy:
    return POLICIES[config.text.humanizer_degree]


def paces(config: StreamConfig) -> bool:
    """Whether messages wait for simulated typing; live mode never does."""
    return policy_of(config).types and config.delivery == "messages"
