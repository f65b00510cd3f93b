"""Common shortcodes (`:smile:`) and their Unicode emoji.

`shortcodes.txt` is made by `make generate` from the `emoji` package (BSD, by Taehoon Kim and Kevin
Wurster).
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

# Discord's names that `shortcodes.txt` lacks or reads differently.
_DISCORD: Final = {
    "call_me": "🤙",
    "clown": "🤡",
    "cowboy": "🤠",
    "face_palm": "🤦",
    "fingers_crossed": "🤞",
    "first_place": "🥇",
    "french_bread": "🥖",
    "frowning2": "☹️",
    "head_bandage": "🤕",
    "hugging": "🤗",
    "heart": "❤️",
    "joy": "😂",
    "map": "🗺️",
    "medal": "🏅",
    "milk": "🥛",
    "money_mouth": "🤑",
    "nerd": "🤓",
    "play_pause": "⏯️",
    "rolling_eyes": "🙄",
    "rofl": "🤣",
    "salad": "🥗",
    "salute": "🫡",
    "second_place": "🥈",
    "skull": "💀",
    "skull_crossbones": "☠️",
    "slight_frown": "🙁",
    "slight_smile": "🙂",
    "smile": "😄",
    "smiling_face_with_3_hearts": "🥰",
    "sob": "😭",
    "sparkles": "✨",
    "stopwatch": "⏱️",
    "tada": "🎉",
    "thermometer_face": "🤒",
    "third_place": "🥉",
    "thumbsdown": "👎",
    "thumbsup": "👍",
    "timer": "⏲️",
    "tools": "🛠️",
    "upside_down": "🙃",
    "wave": "👋",
    "whisky": "🥃",
    "zipper_mouth": "🤐",
}
_FLAG: Final = "flag_"
_REGIONAL_A: Final = 0x1F1E6


@lru_cache(maxsize=1024)
def standard_emoji(name: str) -> str | None:
    """Return the Unicode emoji for a shortcode's name, or None."""
    name = name.lower()
    found = _DISCORD.get(name)
    if found is not None:
        return found
    if name.startswith(_FLAG):
        return _flag(name.removeprefix(_FLAG))
    return _list()[0].get(name)


def is_standard_emoji(text: str) -> bool:
    """Return whether the text is one Unicode emoji."""
    return text in _list()[1]


def _flag(country: str) -> str | None:
    if len(country) != 2 or not (country.isascii() and country.isalpha()):
        return None
    flag = "".join(chr(_REGIONAL_A + ord(letter) - ord("a")) for letter in country)
    return flag if is_standard_emoji(flag) else None


@lru_cache(maxsize=1)
def _list() -> tuple[dict[str, str], frozenset[str]]:
    """Return the emoji of each name, and all emoji. Reading them takes a few milliseconds."""
    text = Path(__file__).with_name("shortcodes.txt").read_text(encoding="utf-8")
    rows = [row.split(" ") for row in text.splitlines()]
    named = {name: shown for shown, *names in rows for name in names}
    return named, frozenset(row[0] for row in rows)
