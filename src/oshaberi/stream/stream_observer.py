"""The protocol of objects that are told about every stream: log, recorder, inspector, metrics."""

from __future__ import annotations

from typing import Protocol

from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.stream_context import StreamContext
from oshaberi.stream.stream_result import StreamResult


class StreamObserver(Protocol):
    """Is told about every stream. Must not raise and must not wait."""

    def opened(self, provider: Provider, config: StreamConfig, context: StreamContext) -> Provider:
        """Return the provider to read from: the same one, or a wrapper around it."""

    def ended(self, context: StreamContext, result: StreamResult) -> None: ...
