"""Scenes: one stream in a JSON file, so that it can be kept, replayed, compared and reported.

`load_scene` (`scene`) reads one; `playback` plays it (`perform`), cuts its text
differently (`rechunk`); `expectations` compares what happened with what it expects.
"""

from __future__ import annotations

from oshaberi.scenes.expectations import differences
from oshaberi.scenes.playback import rechunk
from oshaberi.scenes.scene import Scene, find_scenes, load_scene, parse_scene

__all__ = ["Scene", "differences", "find_scenes", "load_scene", "parse_scene", "rechunk"]
