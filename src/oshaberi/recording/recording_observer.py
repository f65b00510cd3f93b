"""`run --record DIR` as a stream observer: every stream of the bot becomes a scene."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.recording.record_folder import record_into
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.stream_context import StreamContext
from oshaberi.stream.stream_result import StreamResult


class RecordingObserver:
    """Writes each stream as a scene into `folder`. The `secrets` are masked in it."""

    def __init__(self, folder: Path, secrets: Sequence[str] = ()) -> None:
        self._folder = folder
        self._secrets = secrets

    def opened(self, provider: Provider, config: StreamConfig, context: StreamContext) -> Provider:
        return record_into(
            self._folder,
            provider,
            channel=context.channel,
            config=config,
            reply_to=context.reply_to,
            secrets=self._secrets,
        )

    def ended(self, _context: StreamContext, _result: StreamResult) -> None:
        """Do nothing: the recorder has already written its file."""
