"""Recording: a live stream becomes a scene that `oshaberi replay` plays (spec 10).

`Recorder` listens to any provider, `scene_of` makes the document, `record_into` keeps every
stream of a provider in a folder. Secrets, images and long context stay outside.
"""

from __future__ import annotations

from oshaberi.recording.record_folder import record_into
from oshaberi.recording.recording_redaction import SecretMasker, secrets_in
from oshaberi.recording.scene_document import SceneFrame, scene_of
from oshaberi.recording.scene_writing import file_name, write_scene
from oshaberi.recording.stream_recorder import HeardStream, StreamRecorder

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
