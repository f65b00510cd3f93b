"""Macros in the texts of a character: `{{char}}`, `{{user}}`, `{{random:a,b}}` and the like.

These are the macros of V1 and V3 and the common ones of SillyTavern; unknown ones stay as they are.
`expanded` is a function of its values alone: the same message gives the same dice. What changes
from turn to turn (`is_volatile`) must not be at the head of a prompt, or no provider can cache it:
`prompt` moves such lines down.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from random import Random

LONGEST_EXPANDED = 200_000
MOST_NESTED = 4
"""`{{random:{{user}},nobody}}` is expanded from the inside out, at most this many times."""
MOST_DICE = 100
"""How many dice one macro rolls; a text may have thousands of macros."""

_MACRO = re.compile(r"\{\{([^{}]*)\}\}")
_OLD = re.compile(r"<(user|bot|char)>", re.IGNORECASE)
_NAME = re.compile(r"\s*(//|[A-Za-z_]+)(?:::|:|\s|$)?")
_DICE = re.compile(r"(\d{0,4})[dD](\d{1,9})([+-]\d{1,9})?")
_PLAIN_DIE = re.compile(r"\d{1,9}")
LONGEST_DICE = 40
VOLATILE = frozenset({"random", "roll", "time", "isotime", "idle_duration", "outlet"})


@dataclass(frozen=True, slots=True)
class MacroValues:
    """The values of the macros in one turn."""

    char: str
    user: str
    now: datetime
    seed: int = 0
    """The same for each attempt at the same answer: the id of the message."""
    original: str = ""
    """What a system prompt of a card replaces."""
    idle: str = "a moment"
    outlets: Mapping[str, str] = field(default_factory=dict)
    """What `{{outlet::…}}` shows, by name: entries of lorebooks that are awake."""


def expanded(text: str, values: MacroValues) -> str:
    """Return the text with its macros replaced."""
    if "{{" not in text and "<" not in text:
        return text
    means = {"user": values.user, "bot": values.char, "char": values.char}
    text = _OLD.sub(lambda found: _inert(means[found[1].lower()]), text)
    counter = iter(range(len(text) + 1))
    for _ in range(MOST_NESTED):
        before = text
        text = _once(text, values, counter)
        if text == before or len(text) >= LONGEST_EXPANDED:
            break
    return text[:LONGEST_EXPANDED]


def _once(text: str, values: MacroValues, counter: Iterator[int]) -> str:
    """Replace each macro once. A long text that many macros stand for is not repeated forever."""
    room = LONGEST_EXPANDED

    def value(found: re.Match[str]) -> str:
        nonlocal room
        meant = _value(found[0], found[1], values, next(counter))[: max(room, 0)]
        room -= len(meant)
        return meant

    return _MACRO.sub(value, text)


def is_volatile(text: str) -> bool:
    """Return whether the text has a macro whose value changes from turn to turn."""
    return "{{" in text and any(_name(found[1])[0] in VOLATILE for found in _MACRO.finditer(text))


def hidden_keys(text: str) -> str:
    """Return the text of `{{hidden_key:…}}`, which wakes lore but is not shown."""
    if "{{" not in text:
        return ""
    parts = (_name(found[1]) for found in _MACRO.finditer(text))
    return "\n".join(argument for name, argument in parts if name == "hidden_key")


def _name(inside: str) -> tuple[str, str]:
    found = _NAME.match(inside)
    if found is None:
        return "", ""
    return found[1].lower(), inside[found.end() :]


def _value(whole: str, inside: str, values: MacroValues, number: int) -> str:
    name, argument = _name(inside)
    meaning = _MEANINGS.get(name)
    if meaning is None:
        return whole
    value = meaning(argument, values, number)
    return whole if value is None else value


def _inert(name: str) -> str:
    """Return a name in which nothing is a macro, whatever somebody calls themselves."""
    return name.replace("{", "(").replace("}", ")")


def _choices(argument: str) -> list[str]:
    if "::" in argument:
        return argument.split("::")
    # A literal comma is written `\,`.
    parts = argument.replace("\\,", "\0").split(",")
    return [part.replace("\0", ",").strip() for part in parts]


def _random(argument: str, values: MacroValues, number: int) -> str:
    return Random(f"{values.seed} {number} {argument}").choice(_choices(argument))


def _pick(argument: str, values: MacroValues, number: int) -> str:
    """Return a choice that stays the same for this character and this place in its text."""
    return Random(f"{values.char} {number} {argument}").choice(_choices(argument))


def _roll(argument: str, values: MacroValues, number: int) -> str | None:
    if len(argument) > LONGEST_DICE:
        return None
    thrown = argument.replace(" ", "")
    dice = _DICE.fullmatch(thrown)
    if _PLAIN_DIE.fullmatch(thrown) is not None:
        count, sides, more = 1, int(thrown), 0
    elif dice is not None:
        count, sides, more = int(dice[1] or 1), int(dice[2]), int(dice[3] or 0)
    else:
        return None
    if not 1 <= count <= MOST_DICE or sides < 1:
        return None
    chance = Random(f"{values.seed} {number} {argument}")
    return str(sum(chance.randint(1, sides) for _ in range(count)) + more)


_MEANINGS: Mapping[str, Callable[[str, MacroValues, int], str | None]] = {
    "char": lambda _a, values, _n: _inert(values.char),
    "user": lambda _a, values, _n: _inert(values.user),
    "random": _random,
    "pick": _pick,
    "roll": _roll,
    "reverse": lambda argument, _v, _n: argument[::-1],
    "//": lambda _a, _v, _n: "",
    "comment": lambda _a, _v, _n: "",
    "hidden_key": lambda _a, _v, _n: "",
    "noop": lambda _a, _v, _n: "",
    "newline": lambda _a, _v, _n: "\n",
    "outlet": lambda argument, values, _n: values.outlets.get(argument.strip(), ""),
    "original": lambda _a, values, _n: values.original,
    "time": lambda _a, values, _n: f"{values.now:%H:%M}",
    "date": lambda _a, values, _n: f"{values.now:%d %B %Y}",
    "weekday": lambda _a, values, _n: f"{values.now:%A}",
    "isotime": lambda _a, values, _n: f"{values.now:%H:%M}",
    "isodate": lambda _a, values, _n: f"{values.now:%Y-%m-%d}",
    "idle_duration": lambda _a, values, _n: values.idle,
}
