"""Small talk: what the demo model says when no scene fits. Its words are in `talk.json`.

It greets and thanks. To every question it answers that it only plays scenes, and names some. If
nobody addressed it, it says nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from oshaberi.stage.demo_model.request_reading import DemoRequest
from oshaberi.stage.demo_model.written_scenes import filled

_REMEMBER = re.compile(
    r"\b(?:remember|note|keep in mind)\b(?:\s+that)?[\s,:]*(.+)", re.IGNORECASE | re.DOTALL
)
_REMEMBER_JAPANESE = re.compile(r"(.+?)(?:って|と|を)?(?:覚えて|メモして)", re.DOTALL)
SCENES_NAMED = 3
NO_NAME = "you"
"""The visitor's name on the local stage. The demo model does not address anybody by this name."""

Language = Mapping[str, Any]


@cache
def _languages() -> Mapping[str, Language]:
    path = Path(__file__).parent / "talk.json"
    loaded: Mapping[str, Language] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def talk(asked: DemoRequest, rng: Random) -> str:
    """Return a few lines in answer to anything."""
    language = _languages()["ja" if asked.is_japanese else "en"]
    kinds: list[Mapping[str, Any]] = language["kinds"]
    said = asked.words.lower()
    # The last kind fits everything.
    kind = next(one for one in kinds if re.search(one["if"], said))
    if kind is kinds[-1] and asked.silence_marker:
        return asked.silence_marker
    lines = [rng.choice(lines) for lines in kind["lines"]]
    if kind is not kinds[-1]:
        lines += [rng.choice(language["admissions"])] if asked.turns <= 1 else []
        lines.append(rng.choice(language["hints"]))
    gaps = {"user": _vocative(asked.user, language), "scenes": _scenes(language, rng)}
    return "\n".join(filled(line, gaps) for line in lines)


def _vocative(user: str, language: Language) -> str:
    return "" if user.lower() in ("", NO_NAME) else f"{language['before_name']}{user}"


def _scenes(language: Language, rng: Random) -> str:
    *first, last = rng.sample(language["scenes"], SCENES_NAMED)
    return f"{language['comma'].join(first)}{language['and']}{last}"


def remembered(words: str) -> str:
    """Return the fact in “remember that I like tea”."""
    found = _REMEMBER.search(words) or _REMEMBER_JAPANESE.search(words)
    return (found[1] if found else words).strip().rstrip(".!。！")
