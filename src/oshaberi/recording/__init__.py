"""Recording: a live stream becomes a scene that `oshaberi replay` plays (spec 10).

`StreamRecorder` (`stream_recorder`) records any provider, `recording_redaction` removes secrets
and images, `scene_writing` makes the document and writes the file, for one stream or all of a
bot.
"""

from __future__ import annotations

from oshaberi.recording.recording_redaction import SecretMasker
from oshaberi.recording.scene_writing import (
    SceneFrame,
    file_name,
    record_into,
    scene_of,
    write_scene,
)
from oshaberi.recording.stream_recorder import HeardStream, StreamRecorder
from oshaberi.secret_redaction import secrets_in

__all__ = [
    "HeardStream",
    "SceneFrame",
    "SecretMasker",
    "StreamRecorder",
    "file_name",
    "record_into",
    "scene_of",
    "secrets_in",
    "write_scene",
]
