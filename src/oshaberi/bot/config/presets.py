"""Presets: how lively the bot is on a server (`/config preset`). One table, a row per setting.

`normal` sets nothing: the settings in the table have the operator's values, or the defaults.
`quiet` sets each of them, because the operator may have chosen a lively default. A row without
`lively` is the same as `normal`. The table of docs/lively.md is made from this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Preset = Literal["quiet", "normal", "lively"]
PRESETS: tuple[Preset, ...] = get_args(Preset)


@dataclass(frozen=True, slots=True)
class PresetRow:
    name: str
    quiet: Any
    page: str
    """The page of the documentation that explains it."""
    lively: Any = None

    def value(self, preset: Preset) -> Any:
        """Return the value; None if it is inherited."""
        return {"quiet": self.quiet, "normal": None, "lively": self.lively}[preset]


ROWS: tuple[PresetRow, ...] = (
    # when it speaks
    PresetRow("answer_to_names", False, "when-it-speaks.md"),
    PresetRow("attention_ms", 0, "when-it-speaks.md", lively=120_000),
    PresetRow("interjection_chance", 0.0, "when-it-speaks.md", lively=0.02),
    PresetRow("self_trigger_limit", 0, "turns.md"),
    PresetRow("persona_talk_enabled", False, "personas.md", lively=True),
    PresetRow("schedule_tasks_enabled", False, "schedules.md", lively=True),
    # when it speaks first
    PresetRow("opening_after_minutes", 0, "speaking-first.md", lively=720),
    PresetRow("welcome_enabled", False, "speaking-first.md", lively=True),
    PresetRow("follow_ups_enabled", False, "speaking-first.md", lively=True),
    # what people see of an answer, and can do with it
    PresetRow("working_line", "off", "answers.md", lively="while"),
    PresetRow("answer_buttons", "off", "answers.md", lively="menu"),
    PresetRow("answer_versions", 1, "answers.md", lively=5),
    PresetRow("reaction_actions", False, "answers.md", lively=True),
    PresetRow("own_threads", "off", "conversations.md", lively="request"),
    # what the model knows
    PresetRow("reactions_in_context", False, "answers.md", lively=True),
    PresetRow("search_tool_enabled", False, "tools.md", lively=True),
)
PRESET_KEYS = frozenset(row.name for row in ROWS)


def preset_values(preset: Preset) -> Mapping[str, Any]:
    """Return what a preset sets. The other settings of the table are inherited with it."""
    values = {row.name: row.value(preset) for row in ROWS}
    return {name: value for name, value in values.items() if value is not None}
