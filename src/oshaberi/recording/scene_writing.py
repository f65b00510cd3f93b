"""Writes scene files: named by time and channel, written atomically, for their owner only."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

LONGEST_CHANNEL = 40
_NOT_IN_NAMES = re.compile(r"[^\w-]+")


def file_name(at: datetime, channel: str) -> str:
    """Return a name such as `20261115-213405-123-general.json`: sortable, valid on every system."""
    plain = _NOT_IN_NAMES.sub("-", channel).strip("-")[:LONGEST_CHANNEL] or "stream"
    return f"{at:%Y%m%d-%H%M%S}-{at.microsecond // 1000:03}-{plain}.json"


def free_path(folder: Path, name: str) -> Path:
    """Return a path in the folder that does not exist yet."""
    path, number = folder / name, 2
    while path.exists():
        path = folder / f"{name.removesuffix('.json')}-{number}.json"
        number += 1
    return path


def write_scene(path: Path, document: Mapping[str, Any]) -> None:
    """Write the scene atomically: a reader sees the old file or the new one."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(encoded(document))
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def encoded(document: Mapping[str, Any]) -> bytes:
    """Encode with one line per key and per chunk. Lone surrogates are written as ASCII escapes."""
    try:
        return _dumped(document, ascii_only=False).encode()
    except UnicodeEncodeError:
        return _dumped(document, ascii_only=True).encode()


def _dumped(document: Mapping[str, Any], *, ascii_only: bool) -> str:
    def dump(value: Any) -> str:
        return json.dumps(value, ensure_ascii=ascii_only, default=str)

    lines = [f"  {dump(key)}: {dump(value)}" for key, value in document.items() if key != "chunks"]
    chunks = ",\n".join(f"    {dump(chunk)}" for chunk in document["chunks"])
    lines.append(f'  "chunks": [\n{chunks}\n  ]')
    return "{\n" + ",\n".join(lines) + "\n}\n"
