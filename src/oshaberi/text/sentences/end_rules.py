"""Decides whether `.`, `!` or `?` ends a sentence, with one rule per kind."""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.sentences.abbreviations import (
    BANG_NAMES,
    NUMBERED_LETTERS,
    SPEECH,
    STARTERS,
    ZONES,
    AbbreviationRule,
    rule_of,
)

# A place where a sentence may end, and what comes after it: a capital, a digit, nothing yet.


_MAX_GAP: Final = 16
_MAX_WORD: Final = 24
_GAP: Final = re.compile(r"[^\S\n]*")
OPENING_SIGNS: Final = "\"'“„‘‚«‹([{*_~|「『《〈（【¿¡"
"""What may come before a sentence's first word. French closes with ` »`, so that is not
included."""
_OPENING: Final = frozenset(OPENING_SIGNS)
_OPENERS: Final = re.compile(f"[{re.escape(OPENING_SIGNS)}]+")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_EMPHASIS: Final = frozenset("*_~|")
_JOINTS: Final = frozenset(",)]}、，—–»”’」』")


class SentenceSpot:
    """A run of terminators, the closers after it, and what comes next."""

    __slots__ = ("ahead", "at", "close", "end", "final", "kind", "low", "text")

    def __init__(
        self,
        text: str,
        at: int,
        end: int,
        close: int,
        low: int,
        final: bool,
        kind: str = "end",
        ahead: int = 0,
    ) -> None:
        self.text = text
        self.at = at
        self.end = end
        self.close = close
        self.low = low
        """How far back one may look."""
        self.final = final
        self.kind = kind
        """Of what follows: end, lower, upper, digit, joint, other."""
        self.ahead = ahead
        """Where it is."""

    @property
    def quoted(self) -> bool:
        """Return whether a quote or bracket closes after the run (emphasis does not count)."""
        return self.close > self.end and not _EMPHASIS.issuperset(self.text[self.end : self.close])


def following(text: str, at: int, final: bool) -> tuple[str, int]:
    """Return the kind and index of what follows the white space at `at`.

    `more` means that it has not arrived.
    """
    blank = text[at : at + 1]
    if blank == "\n":
        return "end", at
    ahead = at + 1
    if blank != " " or text[ahead : ahead + 1].isspace():
        gap = _GAP.match(text, at, at + _MAX_GAP + 1)
        ahead = gap.end() if gap else at
        if ahead - at > _MAX_GAP:
            return "end", ahead
    if ahead < len(text) and text[ahead] in _OPENING:
        openers = _OPENERS.match(text, ahead, ahead + 8)
        ahead = openers.end() if openers else ahead
    if ahead == len(text):
        return ("end" if final else "more"), ahead
    return _kind(text[ahead]), ahead


def _kind(char: str) -> str:
    if char in _ALL:
        return "other"
    if char.islower():
        return "lower"
    if char.isupper() or char.istitle():
        return "upper"
    if char.isdigit():
        return "digit"
    if char == "\n":
        return "end"
    return "joint" if char in _JOINTS else "other"


def word_at(spot: SentenceSpot, at: int) -> str | None:
    """Return the word at `at`, or None while its end is not certain."""
    found = _WORD.match(spot.text, at, at + _MAX_WORD)
    if found is None:
        return ""
    end = found.end()
    if not spot.final and end < at + _MAX_WORD and end + 1 >= len(spot.text):
        return None
    return found.group()


# Decides whether `.`, `!`, `?` before whitespace ends a sentence: one rule per kind.
#
# Each verdict reads the line before the run and at most the next two words. It is UNDECIDED,
# never a guess, while a character that could change it has not arrived.


TERMINATORS: Final = ".!?…‥。．｡！？‼⁇⁈⁉।॥؟۔"

UNDECIDED: Final = -1
NO: Final = 0
YES: Final = 1

BACK: Final = 80

_SPACED_DOTS: Final = re.compile(r"(?: \.(?=[\s\"'”’)\]]|$)){1,20}")
_AFTER_DOTS: Final = frozenset("\"'”’)]")
_ROMAN: Final = re.compile(r"[IVXLC]{2,}")
_ONLY_A_TIME: Final = re.compile(
    r"(?:^|[.!?…][\"'”’)]*\s+)[\"'“‘(]*(?:At|By|Around|About|Before|After|Since|Until|From|On)"
    r"(?: \w+){0,2} ?[\d:]* ?\d{0,2}[ap]\.m$",
    re.IGNORECASE,
)

_ALL: Final = frozenset(TERMINATORS)
_LEADING: Final = OPENING_SIGNS + "<•⁃‣·-–—>#"
_LEADING_OR_BLANK: Final = _LEADING + " \t"


def _starts_sentence(spot: SentenceSpot) -> int:
    """Decide whether the next word clearly starts a sentence."""
    word = word_at(spot, spot.ahead)
    if word is None:
        return UNDECIDED
    after = spot.ahead + len(word)
    if len(word) == 1 and spot.text[after : after + 1] == ".":
        return NO  # an initial
    base = word.replace("’", "'").lower()
    known = base.endswith("n't") or base.partition("'")[0] in STARTERS
    return YES if known else NO


def _after_quote(spot: SentenceSpot) -> int:
    """Decide after a quote: `"Stop." Anna said` continues, `"Stop." She left` does not."""
    started = _starts_sentence(spot)
    if started != NO:
        return started
    after = spot.ahead + len(word_at(spot, spot.ahead) or "")
    if spot.text[after : after + 1] != " ":
        return YES
    verb = word_at(spot, after + 1)
    if verb is None or (verb == "" and not spot.final and after + 1 == len(spot.text)):
        return UNDECIDED
    return NO if verb in SPEECH else YES


def _token(spot: SentenceSpot) -> tuple[str, str]:
    """Return the word before the run, opening marks stripped, and the line before it."""
    tail = spot.text[spot.low : spot.at]
    if not tail or tail[-1].isspace():
        return "", tail
    word = tail.rsplit(None, 1)[-1]
    token = word.lstrip(_LEADING)
    return token, tail[: len(tail) - len(token)]


def _opens(spot: SentenceSpot, head: str) -> bool:
    """Return whether a word after `head` is the first of its sentence."""
    bare = head.rstrip(_LEADING_OR_BLANK)
    if bare:
        return bare.rstrip("\"'”’)]}」』*_")[-1:] in _ALL
    return spot.at - spot.low < BACK


def after_mark(spot: SentenceSpot) -> int:
    """Decide after `!` and `?`."""
    if spot.kind in ("digit", "other"):
        return YES
    if spot.kind == "upper" and spot.quoted:
        return _after_quote(spot)
    bang = spot.text[spot.at : spot.end] == "!"
    token, head = _token(spot) if bang or spot.kind == "lower" else ("", "")
    if bang and token.lower() in BANG_NAMES:
        return NO if spot.kind == "lower" else _starts_sentence(spot)
    if spot.kind == "upper":
        return YES
    if spot.quoted or not token:
        return NO
    named = bang and token[0].isupper() and not _opens(spot, head)
    return NO if named else YES


def after_ellipsis(spot: SentenceSpot) -> int:
    """Decide after `...` and `…`: only a capital starts a sentence, `I` only after four dots."""
    if spot.kind != "upper":
        return NO
    before = spot.text[spot.low : spot.at]
    if before.endswith(("[", "(")) or not before.rstrip(_LEADING_OR_BLANK):
        return NO
    if spot.quoted:
        return _after_quote(spot)
    if spot.text[spot.ahead] != "I" or spot.end - spot.at > 3:
        return YES
    word = word_at(spot, spot.ahead)
    if word is None:
        return UNDECIDED
    return NO if re.split("['’]", word)[0] == "I" else YES


def after_dot(spot: SentenceSpot) -> int:
    """Decide after a single period."""
    dots = _spaced_ellipsis(spot)
    if dots is not None:
        return dots
    if spot.kind == "joint" or (spot.quoted and spot.kind == "lower"):
        return NO
    token, head = _token(spot)
    if not token:
        return YES if spot.kind == "upper" and head.strip() else NO
    if _is_list_marker(token) and (_opens(spot, head) or _announced(token, head)):
        return NO
    rule = rule_of(token)
    if rule is AbbreviationRule.PLAIN:
        return _after_quote(spot) if spot.quoted and spot.kind == "upper" else YES
    if rule is AbbreviationRule.BOUND:
        return NO
    return _after_abbreviation(spot, rule, token, head)


def _is_list_marker(token: str) -> bool:
    return len(token) <= 3 and (token.isdecimal() or (len(token) == 1 and token.isalpha()))


def _announced(token: str, head: str) -> bool:
    """Return whether a list begins after a colon: `Three steps: 1. Mix`."""
    return token in ("1", "a", "A") and head.rstrip(_LEADING_OR_BLANK).endswith((":", "："))


def _after_abbreviation(spot: SentenceSpot, rule: AbbreviationRule, token: str, head: str) -> int:
    kind = spot.kind
    if rule is AbbreviationRule.NUMBER or rule is AbbreviationRule.MONTH:
        return _after_numbered(spot, rule, token)
    if rule is AbbreviationRule.LETTER:
        return _after_letter(spot, token, head)
    if rule is AbbreviationRule.CLOCK:
        return _after_clock(spot)
    if kind == "upper":
        return _starts_sentence(spot)
    if rule is AbbreviationRule.INITIAL:
        return NO if kind == "lower" and token != "I" else YES
    return NO


def _after_numbered(spot: SentenceSpot, rule: AbbreviationRule, token: str) -> int:
    if spot.kind == "digit" or (spot.kind == "lower" and rule is AbbreviationRule.MONTH):
        return NO
    if spot.kind != "upper" or token.lower() == "no" or spot.text[spot.ahead] not in "IVXLC":
        return YES
    word = word_at(spot, spot.ahead)
    if word is None:
        return UNDECIDED
    return NO if _ROMAN.fullmatch(word) else YES


def _after_letter(spot: SentenceSpot, token: str, head: str) -> int:
    if spot.kind == "digit":
        return NO if token in NUMBERED_LETTERS else YES
    if head.endswith((" e. ", " i. ", "(e. ", "(i. ")):
        return NO
    if spot.kind not in ("lower", "upper"):
        return YES
    word = word_at(spot, spot.ahead)
    if word is None:
        return UNDECIDED
    return NO if len(word) == 1 and spot.text[spot.ahead + 1 : spot.ahead + 2] == "." else YES


def _after_clock(spot: SentenceSpot) -> int:
    """Decide after a time: `At 5 a.m. Anna left` continues.

    `We left at 5 a.m. Anna slept` does not.
    """
    if spot.kind != "upper":
        return NO
    tail = spot.text[spot.low : spot.at]
    found = _ONLY_A_TIME.search(tail)
    if found and (found.start() or spot.at - spot.low < BACK):
        return NO
    word = word_at(spot, spot.ahead)
    if word is None:
        return UNDECIDED
    return NO if word in ZONES else YES


def _spaced_ellipsis(spot: SentenceSpot) -> int | None:
    """Decide for `. . .`: four dots end a sentence, three are a pause. None if it is neither.

    After a word (`word. . . . Next`) the first dot is the sentence's own.
    """
    text, at, end = spot.text, spot.at, spot.end
    is_first = at - 2 < spot.low or text[at - 2 : at] != ". "
    if not _dot_follows(text, end):
        if is_first:
            return None
        return YES if spot.kind == "upper" and _has_four_dots(text, spot.low, at) else NO
    if is_first and at > spot.low and not text[at - 1].isspace():
        return _after_glued_dots(spot)
    return NO if spot.final or end + 2 < len(text) else UNDECIDED


def _dot_follows(text: str, end: int) -> bool:
    """Return whether a spaced dot follows, which is not the first letter of a word (` .env`)."""
    if text[end : end + 2] != " .":
        return False
    after = text[end + 2 : end + 3]
    return not after or after.isspace() or after in _AFTER_DOTS


def _after_glued_dots(spot: SentenceSpot) -> int:
    more = _SPACED_DOTS.match(spot.text, spot.end)
    end = more.end() if more else spot.end
    if not spot.final and end + 1 >= len(spot.text):
        return UNDECIDED
    if end - spot.at < 6:
        return NO
    kind, _ = following(spot.text, end, spot.final)
    return UNDECIDED if kind == "more" else YES if kind == "upper" else NO


def _has_four_dots(text: str, low: int, at: int) -> bool:
    """Return whether the dot at `at` is at least the fourth of a row that no word touches."""
    first = at
    while first - 2 >= low and text.startswith(". ", first - 2):
        first -= 2
    return at - first >= 6 and (first == low or text[first - 1].isspace())
