"""`run --record DIR`: saves every stream of the bot as a scene in a folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.recording.recording_redaction import SecretMasker
from oshaberi.recording.scene_document import SceneFrame, scene_of
from oshaberi.recording.scene_writing import file_name, free_path, write_scene
from oshaberi.recording.stream_recorder import HeardStream, StreamRecorder
from oshaberi.secret_redaction import secrets_in
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.stream_context import StreamContext
from oshaberi.stream.stream_result import StreamResult

log = logging.getLogger(__name__)


def record_into(
    folder: Path,
    provider: Provider,
    *,
    channel: str,
    config: StreamConfig,
    reply_to: bool = False,
    secrets: Sequence[str] = (),
    now: Callable[[], datetime] = datetime.now,
) -> StreamRecorder:
    """Return a provider that also writes a scene at the end of each stream.

    If the disk is full, the recording is lost, but the conversation goes on.
    """
    masker = SecretMasker([*secrets, *secrets_in(os.environ)])

    def keep(heard: Sequence[HeardStream]) -> None:
        if all(one.chunk is None for one in heard):
            return
        at = now()
        frame = SceneFrame(f"{channel} {at:%Y-%m-%d %H:%M:%S}", config, reply_to, provider.reemits)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = free_path(folder, file_name(at, channel))
            write_scene(path, scene_of(heard, frame, masker))
        except OSError as error:
            log.warning("a stream was not recorded: %s: %s", folder, error.strerror)

    return StreamRecorder(provider, keep)


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
