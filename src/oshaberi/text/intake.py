"""Cleans arriving text: whole characters, one kind of newline, the prefill once (spec 06 S6)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum, auto
from typing import Final, NamedTuple

import regex

from oshaberi.text.captured_blocks import THINK_NAME, match_tag
from oshaberi.text.copied_state import CopiedState

# Cleans incoming text: one kind of newline, whole characters, no NUL (spec 05).


# Raw patterns: mypyc cannot compile a literal with half a character.
_ODD: Final = re.compile(r"[\r\0\ud800-\udfff]")
_MAY_GO_ON: Final = re.compile(r"[\r\ud800-\udbff]\Z")
_PAIR: Final = re.compile(r"[\ud800-\udbff][\udc00-\udfff]")
_LONE: Final = re.compile(r"[\ud800-\udfff]")


class CharacterIntake(CopiedState):
    """Cleans characters. Holds back at most one: a carriage return or a high surrogate."""

    def __init__(self) -> None:
        self._kept = ""

    def feed(self, text: str) -> str:
        if self._kept:
            text = self._kept + text
            self._kept = ""
        if not _is_odd(text):
            return text
        text = text.replace("\0", "")
        self._kept = text[-1:] if _MAY_GO_ON.match(text, len(text) - 1) else ""
        return _plain(text[: len(text) - len(self._kept)])

    def finish(self) -> str:
        kept, self._kept = self._kept, ""
        return _plain(kept)


def _is_odd(text: str) -> bool:
    if text.isascii():
        return "\r" in text or "\0" in text
    return _ODD.search(text) is not None


def _plain(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return _LONE.sub("\ufffd", text)


# Spec 06 S6: puts the prefill at the start of the text once, even if the model repeats it.
#
# It comes before everything else, so that what the prefill opens (a fence, a quote) is known.
# Thoughts that come first are passed on: the prefill is for the visible text.


_THOUGHT_ENDS: Final = re.compile(rf"</{THINK_NAME}[^\S\n]*>", re.IGNORECASE)
_LONGEST_END: Final = 64


class PrefillState(Enum):
    HEAD = auto()
    THOUGHT = auto()
    DONE = auto()


class _PrefillMatch(NamedTuple):
    """Text that the model may repeat, and the white space after it."""

    text: str
    blanks: str

    @classmethod
    def of(cls, prefill: str) -> _PrefillMatch:
        begun = prefill.lstrip()
        text = begun.rstrip()
        return cls(text, begun[len(text) :])


class PrefillEcho(CopiedState):
    """Compares the first visible text with the prefill. Chunking does not change the result."""

    def __init__(
        self,
        shown: str,
        echoes: Iterable[str],
        visible: bool,
        in_thought: bool = False,
        own_label: str | None = None,
    ) -> None:
        self._shown = shown if visible else ""
        self._echoes = [_PrefillMatch.of(echo) for echo in echoes if echo.strip()]
        self._label = regex.compile(own_label, regex.IGNORECASE) if own_label else None
        self._labelled = False
        self._state = PrefillState.THOUGHT if in_thought else PrefillState.HEAD
        self._buffer = ""
        self._out: list[str] = []

    def feed(self, text: str, final: bool = False) -> str:
        if self._state is PrefillState.DONE:
            return text
        self._buffer += text
        while self._step(final):
            pass
        out, self._out = "".join(self._out), []
        return out

    def finish(self) -> str:
        """End the text: a match in progress is an echo, held text is returned."""
        out = self.feed("", final=True)
        if self._state is PrefillState.DONE:
            return out
        begun = self._state is PrefillState.HEAD and self._buffer.strip()
        self._state = PrefillState.DONE
        return out + (self._shown if begun else self._buffer)

    def _step(self, final: bool) -> bool:
        if self._state is PrefillState.DONE:
            self._pass(len(self._buffer))
            return False
        return self._thought() if self._state is PrefillState.THOUGHT else self._head(final)

    def _pass(self, end: int) -> None:
        self._out.append(self._buffer[:end])
        self._buffer = self._buffer[end:]

    def _thought(self) -> bool:
        """Pass a thought on, up to its closing tag. Return whether it has ended."""
        found = _THOUGHT_ENDS.search(self._buffer)
        if found:
            self._pass(found.end())
            self._state = PrefillState.HEAD
            return True
        tag = self._buffer.rfind("<", max(0, len(self._buffer) - _LONGEST_END))
        self._pass(tag if tag >= 0 else len(self._buffer))
        return False

    def _head(self, final: bool) -> bool:
        begun = self._buffer.lstrip()
        if not begun:
            return False
        for echo in self._echoes:
            if begun.startswith(echo.text):
                return self._echoed(echo, begun, final)
        if any(echo.text.startswith(begun) for echo in self._echoes):
            return False
        if begun[0] == "<":
            tag = match_tag(begun, 0, final)
            if tag is not None and tag.partial:
                return False
            if tag is not None and tag["think"] and not tag["close"]:
                self._pass(len(self._buffer) - len(begun) + tag.end())
                self._state = PrefillState.THOUGHT
                return True
        unlabelled = self._without_label(begun, final)
        if unlabelled is None:
            return False
        if unlabelled != begun:
            self._buffer, self._labelled = unlabelled, True
            return True
        rest = self._buffer.lstrip(" \t") if self._labelled else self._buffer
        self._begin(self._seam(rest) + rest)
        return True

    def _without_label(self, begun: str, final: bool) -> str | None:
        """Remove the persona's own label before the comparison (S4 before S6).

        Returns None while undecided.
        """
        found = self._label.match(begun, partial=not final) if self._label else None
        if found is None:
            return begun
        if found.partial or (found.end() == len(begun) and not (final or begun[-1].isspace())):
            return None
        return begun if found[3] is not None else begun[found.end() :]

    def _echoed(self, echo: _PrefillMatch, begun: str, final: bool) -> bool:
        """Skip the echo, with the prefill's final white space if that is repeated too.

        Returns False while undecided.
        """
        rest = begun[len(echo.text) :]
        if len(rest) < len(echo.blanks) and echo.blanks.startswith(rest) and not final:
            return False
        again = 0
        while again < len(echo.blanks) and rest[again : again + 1] == echo.blanks[again]:
            again += 1
        self._begin(rest[again:])
        return True

    def _begin(self, rest: str) -> None:
        self._out.append(self._shown)
        self._buffer = rest
        self._state = PrefillState.DONE

    def _seam(self, rest: str) -> str:
        """Return a space if a word ends here: letters on both sides, a capital after."""
        before, after = self._shown[-1:], rest[:1]
        if self._labelled:
            return "" if before.isspace() or after.isspace() else " "
        return " " if before.isalpha() and after.isalpha() and after.isupper() else ""
