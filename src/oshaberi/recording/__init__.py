"""Recording: a live stream becomes a scene that `oshaberi replay` plays (spec 10).

`StreamRecorder` (`stream_recorder`) records any provider, `scene_of` (`scene_document`) makes the
document, `recording_redaction` removes secrets and images, `scene_writing` writes the file.
`record_folder` saves every stream of a provider (`record_into`) or of a bot (`RecordingObserver`).
"""

from __future__ import annotations

from oshaberi.recording.record_folder import record_into
from oshaberi.recording.recording_redaction import SecretMasker
from oshaberi.recording.scene_document import SceneFrame, scene_of
from oshaberi.recording.scene_writing import file_name, write_scene
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
