"""Lorebooks: what a character or a world knows, as entries that wake when they are spoken of.

`book_from` reads the book inside a card, a book of V3 in a file of its own, and SillyTavern's
files, and turns them into one form: the JSON of V3, in which a book is stored. `Lorebook` has the
same as checked values. Unknown fields are kept. Which entries wake: `lore_scan`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import regex

from oshaberi.bot.characters.cards import LONGEST_TEXT, MOST_DEPTH, ROLES, CardError
from oshaberi.checked_json import whole_count
from oshaberi.errors import Sentence

MOST_ENTRIES = 2000
MOST_KEYS = 20_000
"""How many keys all entries of a book may have together."""
LONGEST_KEY = 500
LARGEST_PATTERN = 20_000
MOST_PATTERNS = 200_000
"""How large one pattern may be, and all patterns of a book together (`pattern_size`)."""
MOST_MESSAGES = 1000
"""The largest count of messages that an entry may name (sticky, cooldown, delay)."""
MOST_GROUPS = 20

Position = Literal[
    "before_char", "after_char", "before_examples", "after_examples", "depth", "outlet"
]
Logic = Literal["any", "all", "not_any", "not_all"]

_POSITIONS: dict[object, Position] = {
    0: "before_char",
    1: "after_char",
    2: "depth",
    3: "depth",
    4: "depth",
    5: "before_examples",
    6: "after_examples",
    7: "outlet",
}
"""SillyTavern's numbers. 2 and 3 are around the author's note, which is at a depth, too."""
_DECORATED: dict[str, Position] = {
    "before_desc": "before_char",
    "after_desc": "after_char",
    "personality": "after_char",
    "scenario": "after_char",
}
_DECORATORS = frozenset(
    {
        *("depth", "role", "position", "scan_depth", "additional_keys", "exclude_keys"),
        *("activate", "dont_activate", "activate_only_after", "activate_only_every"),
        *("keep_activate_after_match", "dont_activate_after_match", "is_greeting"),
        "ignore_on_max_context",
    }
)
_LOGIC: dict[object, Logic] = {0: "any", 1: "not_all", 2: "not_any", 3: "all"}
_JS_REGEX = re.compile(r"/(.*)/([a-z]{0,8})", re.DOTALL)
_VERBOSE = re.compile(r"\(\?[\w-]*x")
_COUNT = re.compile(r"\{\s*([0-9]+)")
_JS_POINT = re.compile(r"\\u\{([0-9a-fA-F]{1,6})\}")


@dataclass(frozen=True, slots=True)
class LoreEntry:
    """One entry. `number` is its place in the book, which commands use."""

    number: int
    keys: tuple[str | regex.Pattern[str], ...]
    content: str
    title: str = ""
    secondary: tuple[str | regex.Pattern[str], ...] = ()
    logic: Logic = "any"
    is_enabled: bool = True
    is_constant: bool = False
    order: int = 100
    priority: int | None = None
    position: Position = "before_char"
    depth: int = 4
    role: str = "system"
    probability: int = 100
    groups: tuple[str, ...] = ()
    """Of all the entries in a group that wake, only one stays."""
    group_wins: bool = False
    group_weight: int = 100
    scores_group: bool = False
    """Whether it loses to an entry of its group with more matching keys."""
    scan_depth: int | None = None
    is_case_sensitive: bool | None = None
    whole_words: bool | None = None
    sticky: int = 0
    cooldown: int = 0
    delay: int = 0
    is_woken_by_lore: bool = True
    wakes_lore: bool = True
    needs_lore: bool = False
    """Whether only another entry wakes it."""
    excluded: tuple[str | regex.Pattern[str], ...] = ()
    never: bool = False
    """`@@dont_activate`: it sleeps, no matter what is said."""
    every: int = 1
    """`@@activate_only_every`: it wakes only at every `every`-th message."""
    greeting: int | None = None
    """`@@is_greeting`: it wakes only where the character began with this greeting, counted from
    0."""
    gives_way: bool = False
    """`@@ignore_on_max_context`: all other entries get room first."""
    outlet: str = ""
    """Where it stands if its position is `outlet`: at `{{outlet::…}}` with this name."""

    @property
    def label(self) -> str:
        """Return how people call the entry: its title, else its first key."""
        first = next((one if isinstance(one, str) else one.pattern for one in self.keys), "")
        return self.title or first or self.content[:40]


@dataclass(frozen=True, slots=True)
class Lorebook:
    """A book. `data` is its JSON, as it is stored and exported."""

    name: str
    entries: tuple[LoreEntry, ...]
    scan_depth: int | None = None
    token_budget: int | None = None
    is_recursive: bool = True
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)
    pattern_size: int = 0
    """The total size of its patterns in memory."""


def book_from(document: object, name: str = "") -> Lorebook:
    """Check the JSON of a book in any form. Raises CardError."""
    data = _as_card_book(document)
    if not isinstance(data.get("name"), str) or not data["name"].strip():
        data["name"] = name
    listed = data.get("entries")
    if not isinstance(listed, list):
        raise CardError(Sentence("this is not a lorebook: it has no entries"))
    if len(listed) > MOST_ENTRIES:
        raise CardError(
            Sentence("the lorebook has more than {most} entries", most=f"{MOST_ENTRIES:,}")
        )
    listed = [one for one in listed if isinstance(one, Mapping)]
    data["entries"] = [_bounded(one) for one in listed]
    if (
        sum(len(_texts(one, "keys")) + len(_texts(one, "secondary_keys")) for one in listed)
        > MOST_KEYS
    ):
        raise CardError(Sentence("the lorebook has more than {most} keys", most=f"{MOST_KEYS:,}"))
    room = _Room(MOST_PATTERNS)
    return Lorebook(
        data["name"].strip()[:100],
        tuple(_entry(number, one, room) for number, one in enumerate(data["entries"], 1)),
        whole_count(data.get("scan_depth"), MOST_DEPTH),
        whole_count(data.get("token_budget")),
        data.get("recursive_scanning") is not False,
        data,
        MOST_PATTERNS - room.left,
    )


def _as_card_book(document: object) -> dict[str, Any]:
    if not isinstance(document, Mapping):
        raise CardError(Sentence("this JSON is not a lorebook: it is not an object"))
    if document.get("spec") == "lorebook_v3" and isinstance(document.get("data"), Mapping):
        return dict(document["data"])
    if isinstance(document.get("entries"), Mapping):
        return _from_sillytavern(document)
    inside = document.get("data")
    if isinstance(inside, Mapping) and isinstance(inside.get("character_book"), Mapping):
        return dict(inside["character_book"])
    return dict(document)


def _bounded(one: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(content := one.get("content"), str) and len(content) > LONGEST_TEXT:
        raise CardError(
            Sentence("{field} has more than {most} characters", field="content", most="100,000")
        )
    for key in (*_texts(one, "keys"), *_texts(one, "secondary_keys")):
        if len(key) > LONGEST_KEY:
            raise CardError(
                Sentence("{field} has more than {most} characters", field="keys", most=LONGEST_KEY)
            )
    return dict(one)


# -- SillyTavern's own files ---------------------------------------------------------------------

_RENAMED = {
    "uid": "id",
    "key": "keys",
    "keysecondary": "secondary_keys",
    "order": "insertion_order",
    "comment": "comment",
    "content": "content",
    "constant": "constant",
    "selective": "selective",
}
_EXTENDED = {
    "excludeRecursion": "exclude_recursion",
    "preventRecursion": "prevent_recursion",
    "delayUntilRecursion": "delay_until_recursion",
    "groupOverride": "group_override",
    "groupWeight": "group_weight",
    "useGroupScoring": "use_group_scoring",
    "scanDepth": "scan_depth",
    "caseSensitive": "case_sensitive",
    "matchWholeWords": "match_whole_words",
    "outletName": "outlet_name",
}
_AS_THEY_ARE = (
    *("selectiveLogic", "position", "depth", "role", "probability", "useProbability", "group"),
    *("sticky", "cooldown", "delay", "vectorized"),
)


def _from_sillytavern(document: Mapping[str, Any]) -> dict[str, Any]:
    entries = [
        _from_sillytavern_entry(one)
        for one in document["entries"].values()
        if isinstance(one, Mapping)
    ]
    rest = {key: value for key, value in document.items() if key != "entries"}
    return {**rest, "extensions": rest.get("extensions", {}), "entries": entries}


def _from_sillytavern_entry(one: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {"enabled": one.get("disable") is not True, "use_regex": False}
    extensions: dict[str, Any] = {}
    for key, value in one.items():
        if key in _RENAMED:
            entry[_RENAMED[key]] = value
        elif key in _EXTENDED or key in _AS_THEY_ARE:
            extensions[_EXTENDED.get(key, key)] = value
        elif key != "disable":
            extensions.setdefault("sillytavern", {})[key] = value
    entry["position"] = "after_char" if extensions.get("position") == 1 else "before_char"
    return {**entry, "extensions": extensions}


def as_sillytavern(book: Mapping[str, Any]) -> dict[str, Any]:
    """Return a book as SillyTavern's own file."""
    back = {new: old for old, new in _RENAMED.items()}
    back_extended = {new: old for old, new in _EXTENDED.items()}
    entries = {}
    for number, one in enumerate(book.get("entries", ())):
        extensions = _object(one, "extensions")
        entry = {
            "uid": number,
            "key": [],
            "keysecondary": [],
            "comment": one.get("name", ""),
            "content": "",
            "order": 100,
            "constant": False,
            "selective": True,
            "position": 1 if one.get("position") == "after_char" else 0,
            "disable": one.get("enabled") is False,
            "probability": 100,
            "depth": 4,
        }
        entry |= {back[key]: value for key, value in one.items() if key in back}
        entry |= _object(extensions, "sillytavern")
        kept = {key: v for key, v in extensions.items() if key in (*_AS_THEY_ARE, *back_extended)}
        entry |= {back_extended.get(key, key): value for key, value in kept.items()}
        entries[str(number)] = entry
    rest = {k: v for k, v in book.items() if k not in ("entries", "extensions")}
    return {**rest, "entries": entries}


# -- entries -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Room:
    """How much room the patterns of a book still have."""

    left: int

    def takes(self, size: int) -> bool:
        if size > min(self.left, LARGEST_PATTERN):
            return False
        self.left -= size
        return True


def _entry(number: int, one: Mapping[str, Any], room: _Room) -> LoreEntry:
    extensions = _object(one, "extensions")
    decorators, content = _decorators(_text(one, "content"))
    is_regex = one.get("use_regex") is True
    position: Position = "after_char" if one.get("position") == "after_char" else "before_char"
    position = _POSITIONS.get(_plain(extensions.get("position")), position)
    position = _DECORATED.get(decorators.get("position", ""), position)
    selects = one.get("selective") is not False and not is_regex
    role = extensions.get("role")
    depth = _count(decorators.get("depth"), _count(extensions.get("depth"), 4, MOST_DEPTH))
    return LoreEntry(
        number,
        _keys([*_texts(one, "keys"), *_comma(decorators, "additional_keys")], is_regex, room),
        content,
        _text(one, "comment") or _text(one, "name"),
        _keys(_texts(one, "secondary_keys"), is_regex, room) if selects else (),
        _LOGIC.get(_plain(extensions.get("selectiveLogic")), "any"),
        one.get("enabled") is not False,
        (one.get("constant") is True and not is_regex) or "activate" in decorators,
        _signed(one.get("insertion_order"), 100),
        _signed(one["priority"], 0) if "priority" in one else None,
        "depth" if "depth" in decorators else position,
        depth,
        _role(decorators.get("role"), role),
        _count(extensions.get("probability"), 100, 100)
        if extensions.get("useProbability") is not False
        else 100,
        _groups(_text(extensions, "group")),
        extensions.get("group_override") is True,
        max(_count(extensions.get("group_weight"), 100), 1),
        extensions.get("use_group_scoring") is True,
        _optional(decorators.get("scan_depth", extensions.get("scan_depth"))),
        _flag(one.get("case_sensitive", extensions.get("case_sensitive"))),
        _flag(extensions.get("match_whole_words")),
        MOST_MESSAGES
        if "keep_activate_after_match" in decorators
        else _count(extensions.get("sticky"), 0),
        MOST_MESSAGES
        if "dont_activate_after_match" in decorators
        else _count(extensions.get("cooldown"), 0),
        _count(decorators.get("activate_only_after"), _count(extensions.get("delay"), 0)),
        extensions.get("exclude_recursion") is not True,
        extensions.get("prevent_recursion") is not True,
        extensions.get("delay_until_recursion") not in (None, False, 0),
        _keys(_comma(decorators, "exclude_keys"), is_regex, room),
        "dont_activate" in decorators,
        max(_count(decorators.get("activate_only_every"), 1), 1),
        _count(decorators["is_greeting"], 0) if "is_greeting" in decorators else None,
        "ignore_on_max_context" in decorators,
        _text(extensions, "outlet_name").strip()[:100],
    )


def _decorators(content: str) -> tuple[dict[str, str], str]:
    """Return the decorators at the head of a text, and the rest.

    A line with `@@@` is a fallback: it counts if the lines above it, up to the one with `@@`, are
    unknown.
    """
    found: dict[str, str] = {}
    is_settled = False
    lines = content.splitlines()
    first = 0
    while first < len(lines) and (line := lines[first].strip()).startswith("@@"):
        first += 1
        is_settled = is_settled and line.startswith("@@@")
        name, _space, value = line.lstrip("@").partition(" ")
        name, value = name.lower(), value.strip()
        is_known = name in _DECORATORS and (name != "position" or value in _DECORATED)
        if is_known and not is_settled:
            found.setdefault(name, value)
            is_settled = True
    return found, "\n".join(lines[first:]).strip() if first else content.strip()


def _groups(labels: str) -> tuple[str, ...]:
    parts = (one.strip() for one in labels.split(","))
    return tuple(dict.fromkeys(one[:100] for one in parts if one))[:MOST_GROUPS]


def _keys(texts: list[str], is_regex: bool, room: _Room) -> tuple[str | regex.Pattern[str], ...]:
    return tuple(key for text in texts for key in _key(text.strip(), is_regex, room))


def _key(text: str, is_regex: bool, room: _Room) -> Iterator[str | regex.Pattern[str]]:
    """Yield a key as a text or a pattern, or nothing if the pattern is invalid."""
    found = _JS_REGEX.fullmatch(text)
    if found is None and not is_regex:
        if text:
            yield text
        return
    pattern, flags = (text, "") if found is None else (found[1], found[2])
    pattern = _JS_POINT.sub(_point, pattern)
    if _VERBOSE.search(pattern) or not room.takes(pattern_size(pattern)):
        return
    try:
        # The library's own cache is left alone: it would keep hundreds of these.
        yield regex.compile(_inline(flags) + pattern, cache_pattern=False)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError):
        return


def pattern_size(pattern: str) -> int:
    """Return how large a pattern can become when it is compiled.

    `regex` writes repetitions out: `(?:ab){300}` is 300 copies, and nested counts multiply. A
    verbose pattern could hide its counts in spaces; JavaScript has no such mode.
    """
    counts = [max(int(found[1][:20]), 1) for found in _COUNT.finditer(pattern)]
    copies = math.prod(counts) if "(" in pattern else max(sum(counts), 1)
    return copies * len(pattern)


def _point(found: re.Match[str]) -> str:
    return regex.escape(chr(min(int(found[1], 16), 0x10FFFF)))


def _inline(letters: str) -> str:
    """Return JavaScript's flags as Python's; the others do not affect a search."""
    known = "".join(letter for letter in "ims" if letter in letters)
    return f"(?{known})" if known else ""


def _comma(decorators: Mapping[str, str], name: str) -> list[str]:
    return [one.strip() for one in decorators.get(name, "").split(",") if one.strip()][:100]


def _text(one: Mapping[str, Any], key: str) -> str:
    value = one.get(key)
    return value if isinstance(value, str) else ""


def _texts(one: Mapping[str, Any], key: str) -> list[str]:
    value = one.get(key)
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _object(one: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = one.get(key)
    return dict(value) if isinstance(value, Mapping) else {}


def _plain(value: object) -> object:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _count(value: object, default: int, most: int = MOST_MESSAGES) -> int:
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None
    count = whole_count(value)
    return default if count is None else min(count, most)


def _optional(value: object) -> int | None:
    return None if value is None else _count(value, 2, MOST_DEPTH)


def _signed(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _role(decorated: str | None, role: object) -> str:
    if decorated in ROLES:
        return decorated
    return ROLES[role] if isinstance(role, int) and 0 <= role < len(ROLES) else "system"
