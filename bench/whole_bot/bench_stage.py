"""The stage of the bench: people ask in its channels, and every line that comes back has its time.

Its rate limits are off, but for `limited_crowd`: the bench asks what the bot costs, not how long
Discord would make it wait.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.whole_bot.numbered_answers import AnswerFaults, answer_lines, faults_in, question
from discord_stage import Stage
from discord_stage.world.event_bus import GatewayEvent

BOT = "Mochi"
CHANNELS_PER_GUILD = 10
RATE_LIMITED = 429


@dataclass(slots=True)
class AskedQuestion:
    """One question and what came back. Times are those of the stage's loop, in seconds."""

    number: int
    lines: int
    asked_at: float
    said: list[str] = field(default_factory=list)
    messages: int = 0
    first_at: float | None = None
    first_cpu_s: float | None = None
    """The bot's processor time when its first message came."""
    done_at: float | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, content: str, now: float) -> None:
        """A message of the bot; lines that were joined under load are lines all the same."""
        self.messages += 1
        self.said += content.split("\n")
        if self.first_at is None:
            self.first_at = now
        if self.done_at is None and len(self.said) >= self.lines:
            self.done_at = now
            self.done.set()

    @property
    def faults(self) -> AnswerFaults:
        return faults_in(answer_lines(self.number, self.lines), self.said)


class BenchStage:
    """Asks one question at a time in each channel."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count(1)
        self._newest: dict[int, AskedQuestion] = {}
        self.bot_cpu_s: Callable[[], float] = lambda: 0.0
        """The bot's processor time so far, in seconds."""
        self._ids = {channel.name: channel.id for channel in stage.world.channels.values()}
        stage.state.bus.witness(self._hear)

    def ask(self, channel: str, lines: int) -> AskedQuestion:
        number = next(self._numbers)
        asked = AskedQuestion(number, lines, self._loop.time())
        self._newest[self._ids[channel]] = asked
        self._post(channel, f"<@{self._stage.world.bot.id}> {question(number, lines)}")
        return asked

    def chat(self, channel: str, text: str) -> None:
        """Somebody writes, and not to the bot."""
        self._post(channel, text)

    def is_answering(self, channel: str) -> bool:
        newest = self._newest.get(self._ids[channel])
        return newest is not None and newest.done_at is None

    def requests_since(self, count: int) -> Mapping[str, int]:
        """How often the bot asked the stage for what."""
        counts: dict[str, int] = {}
        for record in self._stage.requests[count:]:
            last = record.path.split("?")[0].rsplit("/", 1)[-1]
            kind = f"{record.method} {last if last.isalpha() else 'other'}"
            counts[kind] = counts.get(kind, 0) + 1
        return counts

    def refused_since(self, count: int) -> int:
        """How many of the requests met a rate limit."""
        return sum(record.status == RATE_LIMITED for record in self._stage.requests[count:])

    @property
    def request_count(self) -> int:
        return len(self._stage.requests)

    def _post(self, channel: str, text: str) -> None:
        self._stage.people.post(self._ids[channel], text, user=person_in(channel))

    def _hear(self, event: GatewayEvent) -> None:
        if event.name != "MESSAGE_CREATE" or event.channel_id is None:
            return
        author = event.data["author"]
        if isinstance(author, dict) and author["id"] == str(self._stage.world.bot.id):
            asked = self._newest.get(event.channel_id)
            if asked is not None:
                if asked.first_at is None:
                    asked.first_cpu_s = self.bot_cpu_s()
                asked.hear(str(event.data["content"]), self._loop.time())


def person_in(channel: str) -> str:
    """Everybody has a channel of their own."""
    return f"person-of-{channel}"


def channels(group: str, count: int) -> list[str]:
    return [f"{group}-{number}" for number in range(count)]


def bench_world(groups: Mapping[str, int]) -> dict[str, object]:
    """So many channels for each group; ten to a guild, so that guilds are many too."""
    guilds = [
        _guild(f"{group}-guild-{at}", channels(group, count)[at : at + CHANNELS_PER_GUILD])
        for group, count in groups.items()
        for at in range(0, count, CHANNELS_PER_GUILD)
    ]
    return {"bot": {"name": BOT}, "guilds": guilds}


def _guild(name: str, names: Sequence[str]) -> dict[str, object]:
    return {"name": name, "members": [person_in(one) for one in names], "channels": list(names)}
