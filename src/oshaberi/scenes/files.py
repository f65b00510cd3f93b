"""Scenes from files, folders and standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from oshaberi.checked_json import RefusedJsonError, parse_json_once
from oshaberi.errors import SceneError
from oshaberi.scenes.scene import Scene, parse_scene

STDIN = "-"


def find_scenes(paths: Iterable[str]) -> list[str]:
    """Return the scene files, sorted by name. Folders are searched with their sub-folders."""
    found: list[str] = []
    for path in paths:
        if path != STDIN and Path(path).is_dir():
            inside = sorted(str(file) for file in Path(path).rglob("*.json"))
            if not inside:
                raise SceneError(f"{path}: no scenes (*.json) in this folder")
            found += inside
        else:
            found.append(path)
    return found


def load_scene(path: str) -> Scene:
    """Load a scene from a file. `-` is standard input."""
    source = "standard input" if path == STDIN else path
    if path == STDIN and sys.stdin is None:
        raise SceneError("standard input is closed; give a file")
    return parse_scene(_document(_text(path, source), source), source)


def _text(path: str, source: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SceneError(f"{source}: is not UTF-8 text (byte {error.start})") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SceneError(f"{source}: cannot be read: {reason}") from None


def _document(text: str, source: str) -> object:
    try:
        return parse_json_once(text, is_own_file=True)
    except RefusedJsonError as refusal:
        raise SceneError(f"{source}: {refusal.reason}") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise SceneError(f"{source}: is not JSON: {error.msg} ({place})") from None
    except ValueError as error:
        raise SceneError(f"{source}: {error}") from None
