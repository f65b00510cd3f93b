"""Spec 05 C1-C6: takes <think> and <details> blocks out of the stream; the rest is V."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import regex

from oshaberi.events import Details, Thought
from oshaberi.text.atoms import backticks_end, inline_code_close
from oshaberi.text.copied_state import CopiedState

# The names of tags around a thought: `think`, `thinking`, `reasoning`, with a namespace or not.


THINK_NAME: Final = r"(?:[\w.-]{1,32}:)?(?:thinking|think|reasoning)"
"""Spec 05 C1, as a part of a pattern that ignores case."""


# Spec 05 C1-C6: takes <think> and <details> blocks out of the stream; the rest is V.
#
# Knows code (fences, inline code) because tags inside it are text. Whatever may still become a
# tag or an inline-code span is held back until it is decided, never longer than its limit.


_TAG: Final = regex.compile(
    rf"<(?P<close>/?)(?:(?P<think>{THINK_NAME})|(?P<details>details))(?:[^\S\n][^<>\n]{{0,195}})?>",
    regex.IGNORECASE,
)
_SUMMARY: Final = re.compile(r"<summary\b[^<>\n]*>.*?</summary\s*>", re.IGNORECASE | re.DOTALL)
# A `<` before one of these signs, or before another complete name, does not begin a tag. Most need
# no closer look.
_TICK_OR_TAG: Final = re.compile(
    r"`|<(?![\x00-,:-@\[-^`{-\x7f]"
    r"|/?(?!(?i:think|thinking|reasoning|details)[^\w.-])[A-Za-z0-9_.-]+[\x00-,/;-@\[-^`{-\x7f])"
)
_TAG_STOP: Final = re.compile(r"[<>\n]")
_TAG_MAX: Final = 200


CaptureMode = Literal["text", "fence", "think", "details"]


@dataclass(frozen=True, slots=True)
class StrayClose:
    """A closing think tag without an opening one. The text before it may be a thought (C3)."""


Captured = str | Thought | Details | StrayClose


class Capture(CopiedState):
    """Takes text; returns visible text and captured blocks, in order."""

    def __init__(self, code_limit: int, starts_in_thought: bool = False) -> None:
        self._mode: CaptureMode = "think" if starts_in_thought else "text"
        self.captures = starts_in_thought
        """A block is open: nothing that comes now is visible."""
        self._code_limit = code_limit
        self._buffer = ""
        self._has_angles = False
        """There is a `<` in the buffer."""
        self._block: list[str] = []
        self._depth = 0
        self._ticks = 0
        self._last = "\n"
        self._seam = False
        self._shown: list[str] = []
        self._found: Thought | Details | StrayClose | None = None
        self.seen_thought = starts_in_thought

    @property
    def held(self) -> int:
        """Return how many characters are held back because they are undecided."""
        return len(self._buffer)

    def passes(self, text: str) -> bool:
        """Return whether all of `text` is visible, which is the common case."""
        if self._buffer or self._seam or self.captures or not text:
            return False
        if "`" in text or (
            self._mode == "text" and "<" in text and _TICK_OR_TAG.search(text) is not None
        ):
            return False
        self._last = text[-1]
        return True

    def feed(self, text: str, final: bool = False) -> Iterator[Captured]:
        """Yield lazily: a consumer may react (`forget`) before the rest is read."""
        self._buffer += text
        self._has_angles = "<" in self._buffer
        at = 0
        while at < len(self._buffer):
            after = self._step(at, final)
            if after < 0:
                break
            at = after
            if self._found:
                yield from self._take()
        self._buffer = self._buffer[at:]
        yield from self._take()

    def finish(self) -> Iterator[Captured]:
        """End the stream. Undecided text is visible; an open block is captured (C6)."""
        yield from self.feed("", final=True)
        if self.captures:
            self._close_block()
        yield from self._take()

    def forget(self) -> None:
        """Note that the visible text before the stray tag was taken back (C3)."""
        self._last = "\n"

    def _take(self) -> Iterator[Captured]:
        """Yield the visible text so far, joined, then the block found after it."""
        if self._shown:
            shown, self._shown = self._shown, []
            yield shown[0] if len(shown) == 1 else "".join(shown)
        if self._found:
            found, self._found = self._found, None
            yield found

    def _step(self, at: int, final: bool) -> int:
        """Decide what begins at `at`. Return where it ends, or -1 to wait."""
        if self._mode == "text":
            return self._text(at, final)
        if self._mode == "fence":
            return self._fence(at, final)
        return self._captured(at, final)

    def _text(self, at: int, final: bool) -> int:
        buffer = self._buffer
        if buffer[at] == "`":
            return self._backticks(at, final)
        stop = self._next_tick_or_tag(at)
        if stop == at:
            return self._tag(at, final)
        self._show(at, stop)
        return stop

    def _next_tick_or_tag(self, at: int) -> int:
        """Return where the next backtick or tag may be; the end of the buffer if there is none."""
        buffer = self._buffer
        if self._has_angles:
            found = _TICK_OR_TAG.search(buffer, at)
            return found.start() if found else len(buffer)
        tick = buffer.find("`", at)
        return tick if tick >= 0 else len(buffer)

    def _tag(self, at: int, final: bool) -> int:
        found = match_tag(self._buffer, at, final)
        if found is None:
            self._show(at, at + 1)
            return at + 1
        if found.partial:
            return -1
        if found["think"]:
            self._think_tag(closes=bool(found["close"]))
        elif not found["close"]:
            self._mode, self._depth = "details", 1
            self.captures = True
        self._seam = True
        return int(found.end())

    def _think_tag(self, closes: bool) -> None:
        if not closes:
            self._mode = "think"
            self.captures = True
        elif not self.seen_thought:
            self._found = StrayClose()
        self.seen_thought = True

    def _captured(self, at: int, final: bool) -> int:
        """Look for the closing tag inside a block."""
        buffer = self._buffer
        tag = buffer.find("<", at)
        if tag < 0:
            self._block.append(buffer[at:])
            return len(buffer)
        if tag > at:
            self._block.append(buffer[at:tag])
            return tag
        found = match_tag(buffer, at, final)
        if found is None:
            self._block.append("<")
            return at + 1
        if found.partial:
            return -1
        end = int(found.end())
        if not self._ends_block(found):
            self._block.append(buffer[at:end])
        return end

    def _ends_block(self, found: regex.Match[str]) -> bool:
        if self._mode == "think":
            closed = bool(found["think"] and found["close"])
        else:
            if found["details"]:
                self._depth += -1 if found["close"] else 1
            closed = self._depth == 0
        if closed:
            self._close_block()
        return closed

    def _close_block(self) -> None:
        inside = "".join(self._block)
        self._block = []
        if self._mode == "details":
            inside = _SUMMARY.sub("", inside).strip()
            if inside:
                self._found = Details(inside)
        elif inside := inside.strip():
            self._found = Thought(inside)
        self._mode = "text"
        self.captures = False

    def _backticks(self, at: int, final: bool) -> int:
        buffer = self._buffer
        end = backticks_end(buffer, at)
        if end == len(buffer) and not final:
            return -1
        ticks = end - at
        if ticks >= 3:
            self._mode, self._ticks = "fence", ticks
            self._show(at, end)
            return end
        close = inline_code_close(buffer, end, ticks, self._code_limit, final)
        if close < 0:
            return -1
        if close and buffer.find("<", end, close) < 0:
            end = close  # the usual case
        elif close and not _breaks_before_tag(buffer, end, close):
            end = _text_before_thought(buffer, end, close - ticks) or close
        self._show(at, end)
        return end

    def _fence(self, at: int, final: bool) -> int:
        buffer = self._buffer
        tick = buffer.find("`", at)
        if tick < 0:
            self._show(at, len(buffer))
            return len(buffer)
        end = backticks_end(buffer, tick)
        if end == len(buffer) and not final:
            if tick == at:
                return -1
            self._show(at, tick)
            return tick
        if end - tick >= self._ticks:
            self._mode = "text"
        self._show(at, end)
        return end

    def _show(self, start: int, end: int) -> None:
        text = self._buffer[start:end]
        if self._seam:
            self._seam = False
            if not self._last.isspace() and not text[0].isspace():
                text = " " + text
            elif self._last == " " and text[0] == " ":
                text = text[1:]
                if not text:
                    return
        self._last = text[-1]
        self._shown.append(text)


def match_tag(buffer: str, at: int, final: bool) -> regex.Match[str] | None:
    """Return the tag at `at`, perhaps incomplete; None if no tag of ours begins there (C5)."""
    stop = _TAG_STOP.search(buffer, at + 1, at + _TAG_MAX)
    if stop and buffer[stop.start()] != ">":
        return None
    found = _TAG.match(buffer, at, min(len(buffer), at + _TAG_MAX), partial=True)
    if found is None or not found.partial:
        return found
    undecided = not final and len(buffer) - at < _TAG_MAX
    return found if undecided else None


def _breaks_before_tag(buffer: str, start: int, end: int) -> bool:
    """Return whether there is a line break in the inline code from `start` to `end`, and a tag.

    A stray backtick at the end of a line must not make a tag below it text (C4).
    """
    return "\n" in buffer[start:end] and _TAG.search(buffer, start, end) is not None


def _text_before_thought(buffer: str, start: int, end: int) -> int:
    """Return where a think pair ends the inline code from `start` to `end`; 0 if none (C4).

    A pair whose opening tag touches the backticks is an example, and text.
    """
    opener, text_end = -1, start
    for tag in _TAG.finditer(buffer, start, end):
        if not tag["think"] or bool(tag["close"]) == (opener < 0):
            continue
        if not tag["close"]:
            opener = tag.start()
        elif opener > start:
            return text_end
        else:
            opener, text_end = -1, tag.end()
    return 0
