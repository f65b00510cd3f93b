"""The persona's own labels: `Tomori:`, `**Tomori:**`, `Tomori (mad):`, `{{char}}：`."""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.text_config import Persona

MACROS: Final = ("{{char}}", "{{bot}}", "{char}", "{bot}")

# A modifier may hold one level of brackets of its own. Code is never touched: no backtick in it.
_MODIFIER: Final = r"(?:[^()（）\n`]|\([^()（）\n`]{1,62}\)){1,64}"


def own_label(persona: Persona) -> re.Pattern[str]:
    """Return the pattern of one label of the persona.

    Groups: bold mark, source, modifier (None for a plain label).
    """
    names = {name.strip() for name in (*persona.names, *MACROS)} - {""}
    source = "|".join(re.escape(name) for name in sorted(names, key=lambda n: (-len(n), n)))
    return re.compile(
        rf"(\*{{1,3}}|__)?({source})(?:[ \t]{{0,2}}[(（]({_MODIFIER})[)）])?[ \t]?"
        r"(?(1)(?:\1[ \t]?[:：]|[:：][ \t]?\1)|[:：])"
        r"(?![:：]|//)[ \t]*",  # `Tomori::x` and `tomori://x` are no labels
        re.IGNORECASE,
    )


def has_colon(text: str) -> bool:
    return ":" in text or "：" in text


def text_start(line: str) -> int:
    """Return where the line's text begins, after its indentation."""
    return len(line) - len(line.lstrip(" \t"))
