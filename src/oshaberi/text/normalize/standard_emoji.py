"""Common shortcodes (`:smile:`) and their Unicode emoji."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

# Discord's names that the `emoji` package lacks or reads differently.
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
    return _from_package(name)


def _from_package(name: str) -> str | None:
    import emoji  # takes 60 ms: only for shortcodes not found elsewhere

    code = f":{name}:"
    shown: str = emoji.emojize(code, language="alias")
    return None if shown == code else shown


def _flag(country: str) -> str | None:
    import emoji

    if len(country) != 2 or not (country.isascii() and country.isalpha()):
        return None
    flag = "".join(chr(_REGIONAL_A + ord(letter) - ord("a")) for letter in country)
    return flag if emoji.is_emoji(flag) else None
