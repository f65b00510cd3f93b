"""Degree 3: makes text look as if typed in a hurry (spec 07, Humanise).

Pure given its random source, linear, and it never removes a letter or a digit: only the case of
first letters, some commas and semicolons, and the last period change.
"""

from __future__ import annotations

import random
import re
from typing import Final

from oshaberi.text.atoms import protected
from oshaberi.text.measure import has_visible
from oshaberi.text.sentences.abbreviations import UNITS, keeps_period

Span = tuple[int, int]

_CODE_LIMIT: Final = 500
_IDLE: Final = random.Random(0)

# Each piece stops at the next of its own openers, so a failed attempt is not repeated.
_ASIDE: Final = re.compile(
    r"\[[^\[\]]{0,500}\]\([^()\s]{0,2000}(?:\([^()\s]{0,500}\)[^()\s]{0,500})?\)"  # a link
    r"|<[^\s<>][^<>\n]{0,200}>"
    r"|(?<!\w):\w{2,32}:"
    r"|(?<!\S)~?/[\w./~-]*\w"  # a path, a slash command
    r"|(?<!\w)\"(?=\S)[^\"]{1,2000}\""
    r"|[“„][^“”„]{1,2000}[”“]|«[^«»]{1,2000}»|「[^「」]{1,2000}」|『[^『』]{1,2000}』"
    r"|《[^《》]{1,2000}》"
    r"|\$(?=\S)[^$\n]{1,200}(?<=\S)\$(?!\d)"
    r"|(?<!\w)[:;=][-']?[A-Z](?!\w)"  # :D keeps its mouth
)
_ASIDE_OPENERS: Final = re.compile(r"[\[<~/:;=\"“„«「『《$]")
_BLOCKS: Final = (
    ("```", "```"),
    ("$$", "$$"),
    ("\\[", "\\]"),
    ("\\(", "\\)"),
    ("\\begin{", "\\end{"),
)
_LABEL: Final = re.compile(r"\s*[*_]*\w[^\s:]{0,31}(?: (?![a-z])[^\s:]{1,31}){0,3}:[*_]*(?=\s|$)")

_WORD: Final = re.compile(r"[@#\\]?\w+(?:[.@\\'’]\w+)*")
_LITERAL: Final = re.compile(r"[@#.\\]")
_MEASURED: Final = re.compile(r"[\d°º][ \u00a0\u202f]?\Z")
_PAUSE: Final = re.compile(r"[,;](?<=\w.)(?=[ \t]+[\w\"'“‘(«*])")
_LAST_PERIOD: Final = re.compile(r"[.。．｡](?=[*_~|]{0,6}\s*$)")
_NO_PERIOD_AFTER: Final = frozenset(".…‥。．｡!?！？,;:、，*_~|")
_LIST_NUMBER: Final = re.compile(r"(?:^|\n)[ \t]*\d{1,3}$")


def humanize_seeded(text: str, seed: str) -> str:
    """Return `humanize` of the text, with a random source of its own.

    Only commas and semicolons draw from it, and making one costs more than all the rest.
    """
    return humanize(text, random.Random(seed) if "," in text or ";" in text else _IDLE)


def humanize(text: str, rng: random.Random) -> str:
    """Return `text` in lower case, with fewer commas and without its last period."""
    kept = _kept(text)
    stop = _last_period(text, kept)
    done: list[str] = []
    position = 0
    for start, end in kept:
        done += (_casual(text[position:start], text[start:end], rng), text[start:end])
        position = end
    if stop < 0:
        done.append(_casual(text[position:], "", rng))
    else:
        done += (_casual(text[position:stop], "", rng), text[stop + 1 :])
    result = "".join(done)
    return result if stop < 0 or has_visible(result) else text


def _kept(text: str) -> list[Span]:
    """Return the spans that stay: code, links, tokens, quotes, LaTeX and a leading label."""
    spans = protected(text, _CODE_LIMIT) if _has_atoms(text) else []
    spans += _asides(text)
    for opener, closer in _BLOCKS:
        if opener in text:
            spans += _blocks(text, opener, closer)
    label = _LABEL.match(text) if ":" in text else None
    if label:
        spans.append(label.span())
    return _united(spans)


def _asides(text: str) -> list[Span]:
    """Return what is not plain prose: links, tags, shortcodes, paths, quotes, formulas."""
    spans = []
    opener = _ASIDE_OPENERS.search(text)
    while opener:
        found = _ASIDE.match(text, opener.start()) or opener
        if found is not opener:
            spans.append(found.span())
        opener = _ASIDE_OPENERS.search(text, found.end())
    return spans


def _has_atoms(text: str) -> bool:
    return "`" in text or "<" in text or "://" in text


def _blocks(text: str, opener: str, closer: str) -> list[Span]:
    """Return every `opener … closer`. A fence that stays open reaches to the end."""
    spans: list[Span] = []
    start = text.find(opener)
    while start >= 0:
        end = text.find(closer, start + len(opener))
        if end < 0:
            return [*spans, (start, len(text))] if opener == "```" else spans
        end += len(closer)
        if closer == "\\end{":
            end = max(end, text.find("}", end, end + 40) + 1)
        spans.append((start, end))
        start = text.find(opener, end)
    return spans


def _united(spans: list[Span]) -> list[Span]:
    """Merge the spans into disjoint ones, in order."""
    united: list[Span] = []
    for start, end in sorted(spans):
        if united and start < united[-1][1]:
            united[-1] = (united[-1][0], max(united[-1][1], end))
        else:
            united.append((start, end))
    return united


def _casual(text: str, after: str, rng: random.Random) -> str:
    """Change prose between kept spans. `after` is the span that follows."""
    lowered = text if text == text.lower() else _WORD.sub(_lower, text)
    if "," not in text and ";" not in text:
        return lowered
    # A kept span after a comma counts as a word.
    whole = _PAUSE.sub(lambda pause: _maybe(pause, rng), lowered + after[:1])
    return whole[:-1] if after else whole


def _maybe(pause: re.Match[str], rng: random.Random) -> str:
    text, at = pause.string, pause.end()
    if text[at - 2].isdigit() and text[at : at + 16].lstrip()[:1].isdigit():
        return pause.group()  # 1, 2, 3
    return "" if rng.random() < 0.5 else pause.group()


def _lower(found: re.Match[str]) -> str:
    """Return a word in lower case, unless its capitals have a meaning."""
    word = found.group()
    if word.islower() or _LITERAL.search(word):
        return word
    marks = len(word) - len(word.lstrip("_"))
    first, rest = word[marks : marks + 1], word[marks + 1 :]
    if rest != rest.lower() or (first == "I" and (not rest or rest[0] in "'’_")):
        return word
    if (not rest or word in UNITS) and _is_measured(found):
        return word
    small = first.lower()
    if len(small) != 1 or small.casefold() != first.casefold():
        return word  # İ would become two characters
    return word[:marks] + small + rest


def _is_measured(word: re.Match[str]) -> bool:
    """Return whether it follows a number: `80 °C`, `12 V`, `50 Hz`."""
    at = word.start()
    return _MEASURED.search(word.string[max(0, at - 2) : at]) is not None


def _last_period(text: str, kept: list[Span]) -> int:
    """Return where the removable period at the end is, or -1."""
    found = _LAST_PERIOD.search(text, max(0, len(text.rstrip()) - 7))
    if found is None or not found.start():
        return -1
    at = found.start()
    before = text[at - 1]
    if before.isspace() or before in _NO_PERIOD_AFTER or (kept and kept[-1][1] > at):
        return -1
    tail = text[max(0, at - 40) : at]
    if keeps_period(tail.rsplit(None, 1)[-1].lstrip("\"'“‘([{*_~|")):
        return -1
    return -1 if _LIST_NUMBER.search(tail) else at
