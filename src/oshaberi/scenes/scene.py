"""A scene as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oshaberi.chunks import Chunk
from oshaberi.delivery.sinks.scripted_faults import ScriptedFault
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.stream.provider_protocol import Step


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that one stream depends on, and what is expected of it."""

    name: str
    config: StreamConfig
    steps: tuple[Step, ...]
    faults: tuple[ScriptedFault, ...] = ()
    reply_to: bool = False
    reemits: bool = False
    expect: Mapping[str, Any] | None = None
    """Only what is given is compared. None means that the scene expects nothing."""

    @property
    def text(self) -> str:
        """Return all text that the model writes."""
        return "".join(step.content for step in self.steps if isinstance(step, Chunk))
