"""Who watches streams: the recorder of scenes, the inspector of the local stage."""

from __future__ import annotations

from typing import Protocol

from oshaberi.delivery.config import StreamConfig
from oshaberi.stream.context import StreamContext
from oshaberi.stream.provider import Provider
from oshaberi.stream.result import StreamResult


class StreamWitness(Protocol):
    """Told of every stream. Must not raise and must not wait."""

    def opened(self, provider: Provider, config: StreamConfig, context: StreamContext) -> Provider:
        """The provider to read from: the same one, or one that listens to it."""

    def ended(self, context: StreamContext, result: StreamResult) -> None: ...
