"""Emoji as pictures, in the style Discord uses: Twemoji, © Twitter and contributors, CC-BY 4.0."""

from __future__ import annotations

from functools import cache, lru_cache

import regex
from PIL import Image

from oshaberi.package_assets import AssetError, emoji_file, emoji_names
from oshaberi.render.grid import RenderUnavailableError

SIZE = 42
_EMOJI = regex.compile(r"\p{Emoji_Presentation}|\p{Regional_Indicator}")
_TEXT_STYLE, _EMOJI_STYLE, _JOINER, _KEYCAP = "\ufe0e", "\ufe0f", "\u200d", "\u20e3"
# Below are letters and arrows (©, ™, ↔), above are Japanese signs (㊙). They are text by default.
_SYMBOLS = range(0x2600, 0x3000)
_LOOKALIKES = {"✓": "2714", "✗": "2716", "✘": "2716"}
_INK = 80


@lru_cache(maxsize=4096)
def emoji_name(cluster: str) -> str | None:
    """Return the name of the emoji picture for this cluster, or None if it is drawn as text."""
    if cluster in _LOOKALIKES:  # our fonts lack ✗, and tables use it beside ✓
        return _LOOKALIKES[cluster]
    if _TEXT_STYLE in cluster or not _is_emoji(cluster):
        return None
    codes = [f"{ord(character):x}" for character in cluster]
    bare = [code for code in codes if code != "fe0f"]
    names = ["-".join(codes), "-".join(bare), *_simpler(bare)]
    return next((name for name in names if name in _names()), None)


@lru_cache(maxsize=512)
def emoji_picture(name: str) -> Image.Image:
    """Load the emoji picture at text size."""
    try:
        path = emoji_file(name)
    except AssetError as unusable:
        raise RenderUnavailableError(str(unusable)) from None
    with Image.open(path) as file:
        return file.convert("RGBA").resize((SIZE, SIZE), Image.Resampling.LANCZOS)


@lru_cache(maxsize=512)
def is_ink(name: str) -> bool:
    """Return whether the picture has only dark strokes (✔ ➕).

    These are invisible on a dark background, so they are drawn in the text colour.
    """
    picture = emoji_picture(name)
    black = Image.new("RGBA", picture.size, (0, 0, 0, 255))
    black.alpha_composite(picture)
    return not any(black.convert("L").histogram()[_INK:])


def _is_emoji(cluster: str) -> bool:
    if _EMOJI.match(cluster) or ord(cluster[0]) in _SYMBOLS:
        return True
    return len(cluster) > 1 and any(sign in cluster for sign in (_EMOJI_STYLE, _JOINER, _KEYCAP))


def _simpler(codes: list[str]) -> list[str]:
    """Return names for a sequence without a picture: without skin tones, then its first part."""
    tones = {f"{tone:x}" for tone in range(0x1F3FB, 0x1F400)}
    return ["-".join(code for code in codes if code not in tones), codes[0]]


@cache
def _names() -> frozenset[str]:
    try:
        return emoji_names()
    except AssetError as unusable:
        raise RenderUnavailableError(str(unusable)) from None
