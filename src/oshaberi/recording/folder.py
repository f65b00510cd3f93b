"""What `run --record DIR` does to a provider: every stream of it becomes a file in a folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from oshaberi.delivery.config import StreamConfig
from oshaberi.recording.document import Frame, scene_of
from oshaberi.recording.files import file_name, free_path, write_scene
from oshaberi.recording.recorder import Heard, Recorder
from oshaberi.recording.secrets import Masker, secrets_in
from oshaberi.stream.provider import Provider

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
) -> Recorder:
    """The provider, with a scene written at the end of each of its streams.

    A disk that is full spoils the recording, never the conversation.
    """
    masker = Masker([*secrets, *secrets_in(os.environ)])

    def keep(heard: Sequence[Heard]) -> None:
        if all(one.chunk is None for one in heard):
            return
        at = now()
        frame = Frame(f"{channel} {at:%Y-%m-%d %H:%M:%S}", config, reply_to, provider.reemits)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = free_path(folder, file_name(at, channel))
            write_scene(path, scene_of(heard, frame, masker))
        except OSError as error:
            log.warning("a stream was not recorded: %s: %s", folder, error.strerror)

    return Recorder(provider, keep)
