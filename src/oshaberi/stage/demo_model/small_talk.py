"""Small talk: what the demo model says when no scene fits. Its words are in `talk.json`.

It picks up what it was asked about and who asked, and never claims to know anything.
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

_WORDS = re.compile(r"[^\W\d_][\w'’-]*")
_JAPANESE_NOUNS = re.compile(r"[\u30a1-\u30ffー]{2,}|[\u4e00-\u9fff々]{2,}|[A-Za-z]{3,}")
_REMEMBER = re.compile(
    r"\b(?:remember|note|keep in mind)\b(?:\s+that)?[\s,:]*(.+)", re.IGNORECASE | re.DOTALL
)
_REMEMBER_JAPANESE = re.compile(r"(.+?)(?:って|と|を)?(?:覚えて|メモして)", re.DOTALL)
_SHORTEST = 4
_LONGEST_TOPIC = 40

Language = Mapping[str, Any]


@cache
def _languages() -> Mapping[str, Language]:
    path = Path(__file__).parent / "talk.json"
    loaded: Mapping[str, Language] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def talk(asked: DemoRequest, rng: Random) -> str:
    """A few lines in answer to anything."""
    language = _languages()["ja" if asked.is_japanese else "en"]
    kind = _kind(asked.words, language)
    found = topic(asked.words, language)
    lines = [rng.choice(lines) for lines in kind["lines"]]
    if kind.get("admits") or asked.turns <= 1:
        lines.append(rng.choice(language["admissions"]))
    lines.append(rng.choice(language["hints"]))
    gaps = {
        "topic": found or language["nothing"],
        "Topic": _capital(found or language["nothing"]),
        "user": f"{language['before_name']}{asked.user}" if asked.user else "",
        "persona": asked.persona or language["me"],
    }
    return "\n".join(filled(line, gaps) for line in lines)


def _kind(words: str, language: Language) -> Mapping[str, Any]:
    """The first kind of message whose pattern is in the words. The last one fits everything."""
    kinds: list[Mapping[str, Any]] = language["kinds"]
    said = words.lower()
    return next((kind for kind in kinds if re.search(kind["if"], said)), kinds[-1])


def topic(words: str, language: Language) -> str:
    """What it is about: a name if there is one, else the longest word that says something."""
    if language["name"] == "ja":
        nouns = [found[0] for found in _JAPANESE_NOUNS.finditer(words)]
        nouns = [noun for noun in nouns if noun not in language["empty"]]
        return max(nouns, key=len, default="")[:_LONGEST_TOPIC]
    empty = language["empty"].split()
    found = [(match.start(), match[0]) for match in _WORDS.finditer(words)]
    telling = [(at, word) for at, word in found if word.lower() not in empty]
    named = [word for at, word in telling if at and word[0].isupper() and len(word) > 1]
    longest = max((w for _, w in telling if len(w) >= _SHORTEST), key=len, default="")
    return (named[0] if named else longest.lower())[:_LONGEST_TOPIC]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def remembered(words: str) -> str:
    """The fact in “remember that I like tea”."""
    found = _REMEMBER.search(words) or _REMEMBER_JAPANESE.search(words)
    return (found[1] if found else words).strip().rstrip(".!。！")
