"""One quiet line that says what the bot does before it speaks: it thinks, tools run.

It has names and durations, never arguments or results. It comes only if something takes longer than
a moment, and is changed seldom: Discord counts each change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from oshaberi.bot.conversation.transcript import SUBTEXT, WORK
from oshaberi.bot.turns.running.quiet_lines import QuietLines
from oshaberi.chunks import Chunk
from oshaberi.clocks import loop_time_s
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.sink import Sent
from oshaberi.languages import translated
from oshaberi.stream.context import StreamContext
from oshaberi.stream.provider_protocol import Provider, WrappedProvider
from oshaberi.stream.result import StreamResult

FIRST_SECONDS = 1.0
"""Nobody needs to know about anything that takes less time."""
CHANGE_SECONDS = 3.0
LATE_CHANGE_SECONDS = 20.0
MANY_CHANGES = 10
"""After so many changes the next ones come more seldom."""
MOST_SHOWN = 6
MOST_ACTIVITIES = 200
THINKING = ""
"""The name of thinking. No tool is called that."""
_OPENING, _CLOSING = "<think", "</think"


@dataclass(slots=True)
class Activity:
    """Something that the bot does or did."""

    name: str
    began_s: float
    ended_s: float | None = None
    has_failed: bool = False

    @property
    def seconds(self) -> float:
        return 0.0 if self.ended_s is None else self.ended_s - self.began_s


class WorkingLine:
    """The line of one turn; also an observer of its streams. `keeps`: it stays at the end."""

    def __init__(self, lines: QuietLines, *, keeps: bool) -> None:
        self._lines = lines
        self._keeps = keeps
        self._activities: list[Activity] = []
        self._thinking: Activity | None = None
        self._sent: Sent | None = None
        self._shown = ""
        self._changes = 0
        self._updating: asyncio.Task[None] | None = None

    # -- what happens ----------------------------------------------------------------------------

    def tool(self, name: str) -> Callable[[bool], None]:
        """Note that a tool begins. Call what this returns when it has ended."""
        activity = self._begin(name)

        def end(failed: bool) -> None:
            activity.has_failed = failed
            self._end(activity)

        return end

    def think(self, *, thinks: bool) -> None:
        """Note whether the model thinks."""
        if thinks and self._thinking is None:
            self._thinking = self._begin(THINKING)
        elif not thinks and self._thinking is not None:
            thinking, self._thinking = self._thinking, None
            self._end(thinking)

    def opened(self, provider: Provider, config: StreamConfig, _context: StreamContext) -> Provider:
        return _WatchedProvider(provider, self, in_thought=config.text.starts_in_thought)

    def ended(self, _context: StreamContext, _result: StreamResult) -> None:
        self.think(thinks=False)

    async def close(self, *, may_stay: bool = True) -> Sent | None:
        """End it. Return its message if that stays."""
        self.think(thinks=False)
        if self._updating is not None:
            self._updating.cancel()
            await asyncio.wait({self._updating})
        sent = self._sent
        if sent is None or not (self._keeps and may_stay and self._lines.may_post):
            return None  # `QuietLines` deletes it
        await self._show()
        return sent if self._lines.keep(sent) else None

    # -- what is shown ---------------------------------------------------------------------------

    def _begin(self, name: str) -> Activity:
        activity = Activity(name, loop_time_s())
        if len(self._activities) < MOST_ACTIVITIES:
            self._activities.append(activity)
        self._update_soon()
        return activity

    def _end(self, activity: Activity) -> None:
        activity.ended_s = loop_time_s()
        self._update_soon()

    def _update_soon(self) -> None:
        if self._updating is None or self._updating.done():
            self._updating = asyncio.create_task(self._update())

    async def _update(self) -> None:
        """Show what is to be shown, and again as long as it changes."""
        await asyncio.sleep(FIRST_SECONDS)
        while self._lines.may_post and self._has_news():
            if self._sent is None:
                self._shown = shown_activities(self._activities)
                self._sent = await self._lines.post(self._shown)
            else:
                await self._show()
            is_late = self._changes > MANY_CHANGES
            await asyncio.sleep(LATE_CHANGE_SECONDS if is_late else CHANGE_SECONDS)

    def _has_news(self) -> bool:
        if self._sent is not None:
            return shown_activities(self._activities) != self._shown
        long_ago = loop_time_s() - FIRST_SECONDS
        return any(
            one.ended_s is None and one.began_s <= long_ago for one in self._activities
        ) or any(one.seconds >= FIRST_SECONDS for one in self._activities)

    async def _show(self) -> None:
        text = shown_activities(self._activities)
        if self._sent is not None and text != self._shown:
            self._shown = text
            self._changes += 1
            await self._lines.change(self._sent, text)


def shown_activities(activities: Iterable[Activity]) -> str:
    """Return the line. What was done several times in a row stands there once."""
    groups = [(name, list(found)) for name, found in groupby(activities, lambda one: one.name)]
    words = [_words(name, found) for name, found in groups[-MOST_SHOWN:]]
    more = ["…"] if len(groups) > MOST_SHOWN else []
    return f"{SUBTEXT}{WORK} {' · '.join([*more, *words])}"


def _words(name: str, found: list[Activity]) -> str:
    time = _time(sum(one.seconds for one in found))
    is_running = any(one.ended_s is None for one in found)
    if name == THINKING:
        return (
            translated("thinking …") if is_running else translated("thought for {time}", time=time)
        )
    tool = f"`{name}`" + (f" ×{len(found)}" if len(found) > 1 else "")
    if is_running:
        return f"{tool} …"
    if all(one.has_failed for one in found):
        return translated("{tool} failed after {time}", tool=tool, time=time)
    return f"{tool} {time}"


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


class _WatchedProvider(WrappedProvider):
    """Notes when the model thinks: in a field of its own, or in tags at the start of its text."""

    def __init__(self, provider: Provider, line: WorkingLine, *, in_thought: bool) -> None:
        super().__init__(provider)
        self._line = line
        self._in_tags = in_thought
        self._is_start = not in_thought
        self._text = ""

    def normalise(self, raw: object) -> Chunk | None:
        chunk = super().normalise(raw)
        if chunk is not None:
            self._note(chunk)
        return chunk

    def _note(self, chunk: Chunk) -> None:
        if chunk.type != "text" or (chunk.content and not self._thinks_in(chunk.content)):
            self._line.think(thinks=False)
        elif chunk.thoughts or self._in_tags:
            self._line.think(thinks=True)

    def _thinks_in(self, content: str) -> bool:
        """Return whether the text goes on with thoughts, or may begin with some."""
        if not self._is_start and not self._in_tags:
            return False
        text = self._text + content
        if self._is_start:
            begun = text.lstrip()[: len(_OPENING)].lower()
            self._is_start = begun != _OPENING and _OPENING.startswith(begun)
            self._in_tags = begun == _OPENING
        if self._in_tags and _CLOSING in text.lower():
            self._in_tags = False
        self._text = text[-len(_CLOSING) :] if self._in_tags else text[: len(_OPENING)].lstrip()
        return self._in_tags or self._is_start
