"""Compares what a scene did with what it expects. A difference reads like a diff."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

SceneRecord = Mapping[str, Any]


def differences(expect: Mapping[str, Any], records: Sequence[SceneRecord]) -> list[str]:
    """Return one line per difference, none if all is as expected.

    `records` are as in `replay --json`.
    """
    lines: list[str] = []
    for key, wanted in expect.items():
        if key == "messages":
            lines += _message_diff(wanted, final_messages(records))
            continue
        got = _observe(key, records)
        if isinstance(wanted, list) and wanted != got:
            lines += [f"{key}:", *_diff(wanted, got)]
        elif wanted != got:
            lines.append(f"{key}: expected {_show(wanted)}, got {_show(got)}")
    return lines


def final_messages(records: Sequence[SceneRecord]) -> list[dict[str, Any]]:
    """Return the messages as they are at the end: after edits, without deleted ones."""
    messages: dict[int, dict[str, Any]] = {}
    for record in records:
        if record["kind"] == "message":
            messages[record["id"]] = {k: v for k, v in record.items() if k != "kind"}
        elif record["kind"] == "edit" and record["id"] in messages:
            messages[record["id"]]["content"] = record["content"]
        elif record["kind"] == "delete":
            messages.pop(record["id"], None)
    return list(messages.values())


def _observe(key: str, records: Sequence[SceneRecord]) -> Any:
    if key == "files":
        # A table that became several pictures is still one table.
        sources = [record["source"].strip() for record in records if record["kind"] == "file"]
        return [s for i, s in enumerate(sources) if i == 0 or sources[i - 1] != s]
    kind = {"embeds": "embed", "reply_notices": "reply_notice"}.get(key, key)
    if kind in ("embed", "reply_notice", "typing"):
        return sum(record["kind"] == kind for record in records)
    return records[-1][key]


def _message_diff(wanted: Sequence[Any], got: Sequence[SceneRecord]) -> list[str]:
    seen = [_reduce(message, wanted, i) for i, message in enumerate(got)]
    return [] if seen == wanted else ["messages:", *_diff(wanted, seen)]


def _reduce(message: SceneRecord, wanted: Sequence[Any], place: int) -> Any:
    """Return only the fields that the expectation names."""
    asked = wanted[place] if place < len(wanted) else ""
    if isinstance(asked, str):
        return message["content"]
    return {key: message[key] for key in asked}


def _diff(wanted: Sequence[Any], got: Sequence[Any]) -> list[str]:
    from difflib import ndiff

    lines = ndiff([_show(item) for item in wanted], [_show(item) for item in got])
    return [f"  {line}".rstrip() for line in lines if not line.startswith("?")]


def _show(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
