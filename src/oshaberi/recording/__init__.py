"""Recording: a live stream becomes a scene that `oshaberi replay` plays (spec 10).

`Recorder` listens to any provider, `scene_of` makes the document, `record_into` keeps every
stream of a provider in a folder. Secrets, images and long context stay outside.
"""

from __future__ import annotations

from oshaberi.recording.document import Frame, scene_of
from oshaberi.recording.files import file_name, write_scene
from oshaberi.recording.folder import record_into
from oshaberi.recording.recorder import Heard, Recorder
from oshaberi.recording.secrets import Masker, secrets_in

__all__ = [
    "Frame",
    "Heard",
    "Masker",
    "Recorder",
    "file_name",
    "record_into",
    "scene_of",
    "secrets_in",
    "write_scene",
]
