"""The buttons under an answer: which there are, in which order, and what their ids say.

A button's id names the action and a message of the answer, so that it works after a restart. It
gives no rights: whoever carries out the action checks who pressed, and where.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

from oshaberi.bot.storage.records import AnswerVersion
from oshaberi.languages import translatable, translated

Action = Literal["again", "continue", "stop", "delete", "why", "edit", "show", "menu", "branch"]

PREFIX = "oshaberi:answer:"
ID_PATTERN = PREFIX + r"(?P<action>[a-z]{2,8}):(?P<message>[1-9]\d{0,18})(?::(?P<version>\d{1,9}))?"
_LABELS: dict[Action, str] = {
    "again": translatable("Again"),
    "continue": translatable("Continue"),
    "stop": translatable("Stop"),
    "delete": translatable("Delete"),
    "why": translatable("Why"),
    "edit": translatable("Edit"),
    "menu": "…",
    "branch": translatable("Branch"),
}


@dataclass(frozen=True, slots=True)
class AnswerButton:
    """A button. `version` is the number of the version that `show` shows."""

    action: Action
    message_id: int
    label: str
    version: int | None = None
    is_enabled: bool = True

    @property
    def custom_id(self) -> str:
        version = "" if self.version is None else f":{self.version}"
        return f"{PREFIX}{self.action}:{self.message_id}{version}"


ButtonRows = tuple[tuple[AnswerButton, ...], ...]


@dataclass(frozen=True, slots=True)
class PressedButton:
    """What the id of a pressed button says."""

    action: Action
    message_id: int
    version: int | None = None


def pressed_button(custom_id: str) -> PressedButton | None:
    """Read the id of a button; None if it is none of these."""
    found = re.fullmatch(ID_PATTERN, custom_id)
    if found is None or found["action"] not in get_args(Action):
        return None
    version = None if found["version"] is None else int(found["version"])
    return PressedButton(cast(Action, found["action"]), int(found["message"]), version)


@dataclass(frozen=True, slots=True)
class VersionPlace:
    """Which of its versions an answer shows. `at` counts from 1; 0 means that none is shown."""

    at: int
    total: int
    previous: int | None = None
    """The number of the version before it, if there is one."""
    following: int | None = None


def place_among(versions: Sequence[AnswerVersion], *, has_newest: bool) -> VersionPlace | None:
    """Return which version is shown; None if there is no other.

    `has_newest`: the newest answer, which is not kept yet, has words of its own.
    """
    numbers = [one.number for one in versions]
    shown = shown_number(versions)
    if shown == next_number(versions):
        if not has_newest:
            return VersionPlace(0, len(numbers), numbers[-1]) if numbers else None
        numbers.append(shown)
    at = numbers.index(shown)
    if len(numbers) < 2:
        return None
    previous = numbers[at - 1] if at else None
    following = numbers[at + 1] if at + 1 < len(numbers) else None
    return VersionPlace(at + 1, len(numbers), previous, following)


def shown_number(versions: Sequence[AnswerVersion]) -> int:
    """Return the number of the version that stands in the channel."""
    return next((one.number for one in versions if one.is_shown), next_number(versions))


def next_number(versions: Sequence[AnswerVersion]) -> int:
    """Return the number of the newest answer, which is not kept yet."""
    return max((one.number for one in versions), default=0) + 1


def rows_under(mode: str, message_id: int, place: VersionPlace | None) -> ButtonRows:
    """Return the buttons under the last message of an answer; `mode` is `answer_buttons`."""
    if mode == "off":
        return ()
    if mode == "menu":
        return (_buttons(message_id, "menu"),)
    actions = _buttons(message_id, "again", "continue", "delete", "why", "menu")
    return (actions, *_turning(message_id, place))


def rows_while_running(message_id: int) -> ButtonRows:
    return (_buttons(message_id, "stop"),)


def rows_of_menu(message_id: int, place: VersionPlace | None, *, may_edit: bool) -> ButtonRows:
    """Return the buttons of the menu that only the user who opened it sees."""
    actions = _buttons(message_id, "again", "continue", "delete", "why")
    edit = _buttons(message_id, "edit") if may_edit else ()
    return (actions + edit, *_turning(message_id, place))


def row_to_branch(message_id: int) -> ButtonRows:
    """Return the button of the menu that begins a thread with the talk up to a message."""
    return (_buttons(message_id, "branch"),)


def _buttons(message_id: int, *actions: Action) -> tuple[AnswerButton, ...]:
    return tuple(AnswerButton(one, message_id, translated(_LABELS[one])) for one in actions)


def _turning(message_id: int, place: VersionPlace | None) -> ButtonRows:
    """Return the buttons that turn to another version.

    Each button names its version, so that pressing it twice shows the same one.
    """
    if place is None:
        return ()
    label = f"{place.at or '–'}/{place.total}"
    shown = AnswerButton("show", message_id, label, version=0, is_enabled=False)
    back = _turn(message_id, "◀", place.previous, _NO_EARLIER)
    on = _turn(message_id, "▶", place.following, _NO_LATER)
    return ((back, shown, on),)


_NO_EARLIER, _NO_LATER = 10**9 - 2, 10**9 - 1
"""Numbers that no version has. Ids under one message must differ, also those of dead buttons."""


def _turn(message_id: int, label: str, number: int | None, nowhere: int) -> AnswerButton:
    target = nowhere if number is None else number
    return AnswerButton("show", message_id, label, target, is_enabled=number is not None)
