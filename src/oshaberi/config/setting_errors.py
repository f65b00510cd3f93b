"""What pydantic found wrong, in our words: the key, the value and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from oshaberi.config.setting_declarations import DECLARED, near
from oshaberi.config.shown_settings import masked, plain
from oshaberi.errors import ConfigError
from oshaberi.secret_redaction import MASK

LONGEST = 80
_EXTRA = ("extra_forbidden", "unexpected_keyword_argument")
_WORDS = {
    "string_type": "a text",
    "tuple_type": "a list",
    "dict_type": "a table",
    "mapping_type": "a table",
    "is_instance_of": "a table",
    "dataclass_type": "a table",
}


class SettingMistakesError(ConfigError):
    """The settings have mistakes.

    The message shows the first and counts the rest; `lines` has all.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        first, *others = self.lines
        more = f", and {len(others)} more: `oshaberi doctor` lists them" if others else ""
        super().__init__(first + more)


def complaint(place: tuple[int | str, ...], wrong: Mapping[str, Any]) -> str:
    """Describe one validation error in one line. `place` says where it is."""
    key, kind = str(place[0]), wrong["type"]
    if key not in DECLARED:
        return f"{key}: no such setting{near(key, DECLARED)}"
    path = _path(place)
    if kind in _EXTRA:
        return f"{path}: no such key"
    if kind == "missing":
        return f"{path}: is missing"
    if kind == "value_error":
        return f"{path}: {wrong['ctx']['error']}"
    return f"{path}: {_shown(place, wrong['input'])} is not {_allowed(place, wrong)}"


def _path(place: tuple[int | str, ...]) -> str:
    inside = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place[1:])
    return f"{place[0]}{inside}"


def _allowed(place: tuple[int | str, ...], wrong: Mapping[str, Any]) -> str:
    setting = DECLARED[str(place[0])]
    if len(place) == 1 or "table" not in setting.about:
        return setting.allowed
    return _WORDS.get(wrong["type"], f"allowed: {wrong['msg']}")


def _shown(place: tuple[int | str, ...], value: Any) -> str:
    setting = DECLARED[str(place[0])]
    if {"api_keys", "env", "headers"} & set(place):
        return MASK
    shown = masked(setting, value) if len(place) == 1 else plain(value)
    text = repr(shown)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
