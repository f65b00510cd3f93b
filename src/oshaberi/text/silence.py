r"""Silence: the marker with which a model says that it stays silent, and the first words of others.

An answer that begins with a marker is silence; what follows is the model's reason. Later a marker
counts only if it is alone on a line, begins the last line, or is the last word. Within a sentence
it is only mentioned, and stays, as it does in code. If somebody asked about it, only an answer that
is nothing but a marker is silence. Text that may become a marker is held back.

`NO_REPLY`, `**no_reply**.` and `- NO\_REPLY` are markers; `NO_REPLY (they talk to each other)` and
`NO_REPLY: not for me` give a reason; in `NO_REPLY is what I write` and `NO_REPLY@mail` the marker
is a word like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from functools import lru_cache

import regex

from oshaberi.events import Details, Event, Thought, Withheld
from oshaberi.text.captured_blocks import Capture, Captured, match_tag

SILENCE = "silence"
"""Why a marker, and the reason beside it, are withheld."""
LONGEST_LINE = 300
"""How many characters of a line that begins with a marker are held back, as it may be the last
line."""
_PIECE = 1024
"""How much is read at once: the rest of it is copied at each word (L7)."""
_FENCE = "```"
_PLACE = re.compile(r"[\s>]")
"""A marker may start after it. `re` and `str.isspace` agree on blanks, `regex` does not."""
_LINE_HEAD = 8
"""How many characters of a line are kept to recognise a fence."""


MOST_BLANKS = 200
"""After this many blanks the filter no longer waits for what may follow a marker."""
_UNSEEN = "\u200b\u200c\u200d\u2060\ufeff"
_OPENING_SIGNS = "`\"'*_~[(“‘「«<|-+#> \t\n" + _UNSEEN
_OPENING = rf"""(?:[-*+>#]{{1,3}}[ \t]{{1,3}})?[`"'*_~\[(“‘「«<|{_UNSEEN}]{{0,3}}"""
"""A list item, a quote, a heading or small print, and marks around a word."""
_GESTURE = r"(?:(?:<a?:\w{1,32}:\d{1,20}>|:\w{1,32}:|[^\w\s<`:]){1,4}+\s{0,3})?"
"""Emoji and signs before the marker that begins an answer: they are not words."""
_CLOSING = rf"""[`"'*_~\])”’」»>|.!?。！？…{_UNSEEN}]{{0,4}}+"""
_SETS_APART = frozenset("])」»>|.!?。！？…")
"""After a marker they make it a remark or a sentence of its own."""
_NO_SPACE_AFTER = frozenset("。！？…")
_WITHIN_WORDS = frozenset("-'’.@/\\=+&%$#~")
"""Between a marker and a letter they make one word of both: `NO_REPLY@mail`, `NO_REPLY.txt`."""
_AROUND_REASON = " \t\n:：;,、.。!?！？…—–-()（）[]{}「」“”\"'`*_~|<>#/=→" + _UNSEEN
_BLANKS = regex.compile(r"[^\S\n]*")


class After(Enum):
    """What follows a marker."""

    UNDECIDED = auto()
    LINE_END = auto()
    REASON = auto()
    SENTENCE = auto()
    """The marker is a word of a sentence, or a part of a longer word; or there is none."""


SILENT = (After.LINE_END, After.REASON)


class SilencePatterns:
    """The patterns of some markers.

    `is_offered`: the model was told about them, so any word after one begins a reason. `is_topic`:
    somebody asked about them, so a marker with words after it is only mentioned. `names`: the names
    with which the persona may label its words.
    """

    def __init__(
        self, markers: Sequence[str], names: Iterable[str], *, is_offered: bool, is_topic: bool
    ) -> None:
        longest_first = sorted(markers, key=len, reverse=True)
        words = "|".join(map(_written, longest_first))
        alone = _OPENING + f"(?:{'|'.join(map(_written_alone, longest_first))})"
        first = _label(names) + f"(?:{alone}|{_GESTURE}{alone})"
        blanks = rf"\s{{0,{MOST_BLANKS}}}"
        self._last = regex.compile(rf"(?:{words})[.!]?{blanks}")
        self._fenced = regex.compile(rf"```\w{{0,12}}\s{{1,8}}{alone}\s{{0,8}}```{blanks}")
        self._begun = {False: regex.compile(alone), True: regex.compile(first)}
        self._whole = {
            False: regex.compile(f"{alone}({_CLOSING})"),
            True: regex.compile(f"{first}({_CLOSING})"),
        }
        letters = {sign for marker in markers for sign in (marker[0].lower(), marker[0].upper())}
        self.first_signs = frozenset((*_OPENING_SIGNS, "\\", *letters))
        """What a marker can begin with, and what may come before it."""
        signs = "".join(map(re.escape, sorted(self.first_signs)))
        self.place = re.compile(rf"(?:^|[\s>])[{signs}]")
        """Where a marker may begin. Every token is searched, and `re` is faster than `regex`."""
        self._shortest = min(map(len, markers))
        self._is_offered = is_offered
        self.is_topic = is_topic

    def after(self, text: str, *, is_first: bool, is_end: bool = False) -> After:
        """Return what follows the marker at the start of the text, if there is one.

        `is_first`: these are the first words of the answer.
        """
        if not is_end and _is_partial(self._begun[is_first], text):
            return After.UNDECIDED
        found = self._whole[is_first].match(text)
        if found is None:
            return After.SENTENCE
        return self._what_follows(found[1], text[found.end() :], is_end=is_end)

    def is_last_word(self, text: str, *, is_end: bool = False) -> bool:
        """Return whether the text is a marker, or may become one, with nothing after it."""
        return self._last.fullmatch(text, partial=not is_end) is not None

    def is_fenced(self, text: str, *, is_end: bool = False) -> bool:
        """Return whether the text is a code block with a marker alone, or may become one."""
        return self._fenced.fullmatch(text, partial=not is_end) is not None

    def is_half(self, text: str) -> bool:
        """Return whether the text is at least half of a marker, with what comes before it."""
        patterns = (self._last, self._fenced, *self._begun.values())
        begun = any(_is_partial(pattern, text) for pattern in patterns)
        return begun and 2 * len(text.strip(_OPENING_SIGNS)) >= self._shortest

    def reason_in(self, text: str) -> str:
        """Return what follows the marker that an answer begins with, even if it is repeated."""
        found = self._whole[True].match(text)
        while found is not None:
            text = text[found.end() :].lstrip()
            found = self._whole[False].match(text)
        return text

    def _what_follows(self, closing: str, text: str, *, is_end: bool) -> After:
        if self.is_topic:
            return _only_blanks(text, is_end=is_end)
        blanks = _BLANKS.match(text)
        gap = 0 if blanks is None else blanks.end()
        sign, is_apart = text[gap : gap + 1], not _SETS_APART.isdisjoint(closing)
        if not sign or sign == "\n":
            return After.LINE_END if sign or is_end else _undecided(gap)
        if gap:
            return _reason(not _is_letter(sign) or is_apart or self._is_offered)
        if _is_letter(sign):
            return _reason(not _NO_SPACE_AFTER.isdisjoint(closing))
        if sign in _WITHIN_WORDS:
            undecided = len(text) == 1 and not is_end
            return After.UNDECIDED if undecided else _reason(not _is_letter(text[1:2]))
        return _reason(sign != "," or self._is_offered)


@lru_cache(maxsize=256)
def silence_patterns(
    markers: tuple[str, ...], names: tuple[str, ...], *, is_offered: bool, is_topic: bool
) -> SilencePatterns:
    """Return the patterns, which the streams of a persona share."""
    return SilencePatterns(markers, names, is_offered=is_offered, is_topic=is_topic)


def trimmed_reason(text: str) -> str:
    """Return a reason in one line, without the signs around it."""
    return " ".join(text.split()).strip(_AROUND_REASON)


def _reason(is_one: bool) -> After:
    return After.REASON if is_one else After.SENTENCE


def _only_blanks(text: str, *, is_end: bool) -> After:
    if text.strip():
        return After.SENTENCE
    return After.LINE_END if is_end else _undecided(len(text))


def _undecided(blanks: int) -> After:
    return After.UNDECIDED if blanks <= MOST_BLANKS else After.SENTENCE


def _is_partial(pattern: regex.Pattern[str], text: str) -> bool:
    found = pattern.fullmatch(text, partial=True)
    return found is not None and bool(found.partial)


def _is_letter(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _label(names: Iterable[str]) -> str:
    """Return a pattern for a persona's name before its words, such as `Mochi (shy): `."""
    escaped = "|".join(map(regex.escape, sorted(filter(None, names), key=len, reverse=True)))
    if not escaped:
        return ""
    mood, marks = r"(?: ?\([^()\n]{1,32}\))?", "[*_]{0,2}"
    return rf"(?:{marks}(?i:{escaped}){mood}{marks}[:：]{marks}\s{{0,3}})?"


def _written(marker: str) -> str:
    r"""Return a pattern for a marker as models write it: `NO_REPLY`, `NO\_REPLY`."""
    return regex.escape(marker).replace("_", r"\\?_")


def _written_alone(marker: str) -> str:
    """Return a pattern for it on a line of its own: in any case, unless it is an ordinary word."""
    return _written(marker) if marker.isalpha() else f"(?i:{_written(marker)})"


class SilenceMarkerFilter:
    """Takes text in pieces and returns it without markers. `found`: whether there was one.

    `names`: what the persona may call itself before its words. `is_offered`: the model was told of
    the markers, so an answer that begins with one is silence, whatever word comes next.
    `is_topic`: somebody asked about them.
    """

    def __init__(
        self,
        markers: Sequence[str],
        names: Iterable[str] = (),
        *,
        is_offered: bool = False,
        is_topic: bool = False,
        starts_in_thought: bool = False,
    ) -> None:
        self.found = False
        self._patterns = silence_patterns(
            tuple(markers), tuple(names), is_offered=is_offered, is_topic=is_topic
        )
        self._block = Capture(0, starts_in_thought=True) if starts_in_thought else None
        """A think or details block before the first words."""
        self._is_first = True
        """Nothing visible has come yet."""
        self._held = ""
        self._line = ""
        self._before = "\n"
        self._in_code = False
        self._silent: list[str] | None = None
        """The text of an answer that begins with a marker."""
        self._removed: list[str] = []

    def feed(self, text: str) -> str:
        """Return what can be shown so far."""
        if len(text) <= _PIECE:
            return self._feed_piece(text)
        pieces = (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
        return "".join([self._feed_piece(piece) for piece in pieces])

    def _feed_piece(self, text: str) -> str:
        is_inside = not self._is_first and not self._held and self._silent is None
        if is_inside and text and self._patterns.place.search(text) is None:
            self._note_shown(text)  # true of nearly every token
            return text
        rest, self._held = self._held + text, ""
        shown: list[str] = []
        while rest and self._silent is None:
            length = self._pass_first(rest) if self._is_first else self._pass(rest)
            if length is None:
                self._held = rest
                break
            if length > 0:
                shown.append(rest[:length])
                self._note_shown(rest[:length])
            rest = rest[abs(length) :]
        if self._silent is not None:
            self._silent.append(rest)
        return "".join(shown)

    def end(self, *, cut: bool = False) -> str:
        """Return the held-back text, without a marker. `cut`: a stop ended the text."""
        held, self._held = self._held, ""
        if not held:
            return ""
        if self._is_first and self._ends_first(held):
            self._be_silent()
            self._silent = [held]
        elif self._ends(held):
            self._remove(held)
        elif cut and self._patterns.is_half(held):
            self._removed.append(held)
        else:
            return held
        return ""

    @property
    def withheld(self) -> list[str]:
        """What was not shown, in order."""
        silent = [] if self._silent is None else ["".join(self._silent)]
        return [*self._removed, *silent]

    @property
    def reason(self) -> str:
        """Return why the model stays silent, in its own words."""
        return trimmed_reason("".join(one for one in self._after_marker() if isinstance(one, str)))

    def last_events(self) -> list[Event]:
        """Return the thoughts beside a reason, and what was withheld.

        They come after all other events: anywhere else, their place would depend on the chunks.
        """
        beside = [one for one in self._after_marker() if isinstance(one, (Thought, Details))]
        return [*beside, *(Withheld(text, SILENCE) for text in self.withheld)]

    def _after_marker(self) -> list[Captured]:
        """Return the rest of an answer that begins with a marker: text, thoughts and details."""
        rest = self._patterns.reason_in("".join(self._silent or ()))
        capture = Capture(0)
        return [*capture.feed(rest), *capture.finish()]

    def _pass_first(self, rest: str) -> int | None:
        """Look for the first visible words. Return how much can be shown; None: wait."""
        if self._block is not None:
            return self._pass_block(self._block, rest)
        if rest[0].isspace():
            return 1
        if rest[0] == "<" and (tag := match_tag(rest, 0, False)) is not None:
            return None if tag.partial else self._pass_tag(tag)
        after = self._patterns.after(rest, is_first=True)
        if after is After.UNDECIDED or self._patterns.is_fenced(rest):
            return None
        if after in SILENT:
            self._be_silent()
            return 0
        self._is_first = False
        return self._pass(rest)

    def _pass_tag(self, tag: regex.Match[str]) -> int:
        if not tag["close"]:
            self._block = Capture(0)
            self._pass_block(self._block, tag[0])
        return tag.end()

    def _pass_block(self, block: Capture, rest: str) -> int:
        """Pass a think or details block, which can only end with a `>`."""
        length = rest.find(">") + 1 or len(rest)
        for _ in block.feed(rest[:length]):
            pass
        if not block.captures:
            self._block = None
        return length

    def _pass(self, rest: str) -> int | None:
        """Return how much can be shown; below 0: how much is removed; None: wait."""
        if self._patterns.is_topic:
            return len(rest)
        if self._in_code or not (self._before.isspace() or self._before == ">"):
            return _word(rest)
        if rest[0].isspace():
            return 1
        if rest[0] not in self._patterns.first_signs:
            return _word(rest)
        if self._begins_line:
            after = self._patterns.after(rest, is_first=False)
            if after is After.UNDECIDED or (after is After.REASON and _may_be_last(rest)):
                return None
            if after is After.LINE_END:
                end = rest.index("\n") + 1
                self._remove(rest[:end])
                return -end
        return None if self._patterns.is_last_word(rest) else 1

    def _ends_first(self, held: str) -> bool:
        """Return whether the whole answer is a marker, perhaps with a reason."""
        after = self._patterns.after(held, is_first=True, is_end=True)
        return after in SILENT or self._patterns.is_fenced(held, is_end=True)

    def _ends(self, held: str) -> bool:
        """Return whether the answer ends with a marker, perhaps with a reason."""
        if self._patterns.is_last_word(held, is_end=True):
            return True
        after = self._patterns.after(held, is_first=False, is_end=True)
        return self._begins_line and after in SILENT

    def _be_silent(self) -> None:
        self.found = True
        self._silent = []

    def _remove(self, text: str) -> None:
        self.found = True
        self._removed.append(text)

    @property
    def _begins_line(self) -> bool:
        return not self._line or self._before == ">"

    def _note_shown(self, text: str) -> None:
        self._before = text[-1]
        if "\n" not in text:
            if len(self._line) < _LINE_HEAD:
                self._line = (self._line + text).lstrip()[:_LINE_HEAD]
            return
        for number, part in enumerate(text.split("\n")):
            if number:
                if self._line.startswith(_FENCE):
                    self._in_code = not self._in_code
                self._line = ""
            if len(self._line) < _LINE_HEAD:
                self._line = (self._line + part).lstrip()[:_LINE_HEAD]


def _word(text: str) -> int:
    """Return the length of the text up to and including the next place where a marker may begin."""
    found = _PLACE.search(text)
    return len(text) if found is None else found.end()


def _may_be_last(rest: str) -> bool:
    """Return whether the first line may be the last one: only blanks follow so far."""
    end = rest.find("\n", 0, LONGEST_LINE)
    if end < 0:
        return len(rest) < LONGEST_LINE
    return len(rest) - end <= MOST_BLANKS and rest[end:].isspace()


LONGEST_TAG = 40
"""`<mm:think>` and its like are shorter; a longer text that begins with `<` is read."""


class FirstWords:
    """Notices when a model begins to say something that people will read.

    Thoughts are not shown, so it waits until a tag that may begin them is decided.
    """

    def __init__(self) -> None:
        self._begun = ""

    def came_in(self, text: str, *, was_captured: bool, is_captured: bool) -> bool:
        """Return whether the text has the first words.

        `was_captured`, `is_captured`: a thought or a details block was open before and after it.
        """
        if is_captured:
            self._begun = ""
            return False
        visible = text.rpartition(">")[2] if was_captured else text
        self._begun = (self._begun + visible).lstrip()
        if not self._begun.startswith("<"):
            return bool(self._begun)
        _tag, closed, rest = self._begun.rpartition(">")
        return bool(closed and rest.strip()) or len(self._begun) > LONGEST_TAG
