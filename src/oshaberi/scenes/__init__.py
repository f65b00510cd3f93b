"""Scenes: one stream in a JSON file, so that it can be kept, replayed, compared and reported.

`load_scene` reads, `rechunk` cuts the text anew, `play.perform` runs, `differences` compares.
"""

from __future__ import annotations

from oshaberi.scenes.expect import differences
from oshaberi.scenes.files import find_scenes, load_scene
from oshaberi.scenes.load import parse_scene
from oshaberi.scenes.model import Scene, rechunk

__all__ = ["Scene", "differences", "find_scenes", "load_scene", "parse_scene", "rechunk"]
