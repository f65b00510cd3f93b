"""Scenes: one stream in a JSON file, so that it can be kept, replayed, compared and reported.

`load_scene` (`scene_files`, `scene_parsing`) reads a `scene`, `rechunk` (`scene_rechunking`) cuts
its text differently, `perform` (`scene_playback`) plays it, `differences` (`scene_expectations`)
compares.
"""

from __future__ import annotations

from oshaberi.scenes.scene import Scene
from oshaberi.scenes.scene_expectations import differences
from oshaberi.scenes.scene_files import find_scenes, load_scene
from oshaberi.scenes.scene_parsing import parse_scene
from oshaberi.scenes.scene_rechunking import rechunk

__all__ = ["Scene", "differences", "find_scenes", "load_scene", "parse_scene", "rechunk"]
