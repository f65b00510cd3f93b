"""How much is asked when: many questions at once, chatter that is not for the bot, a day's mix."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.whole_bot.bench_stage import AskedQuestion, BenchStage, channels
from bench.whole_bot.numbered_answers import ideal_done_s

LONGEST_ANSWER_S = 150.0
"""An answer that is not complete by then counts as lost."""
_CHATTER = "did anyone see where I left the keys, I thought they were on the table (%d)"
_CHATTER_STEP = 20


@dataclass(frozen=True, slots=True)
class Played:
    """What was done in a mode: the questions with their answers, and how much was only chatter."""

    asked: Sequence[AskedQuestion] = ()
    chatter: int = 0


@dataclass(frozen=True, slots=True)
class AtOnce:
    """So many questions at the same moment, each in a channel of its own."""

    questions: int
    lines: int = 8

    @property
    def name(self) -> str:
        return f"{self.questions} at once"

    @property
    def channels(self) -> int:
        return self.questions

    async def play(self, stage: BenchStage, group: str) -> Played:
        asked = []
        for channel in channels(group, self.questions):
            asked.append(stage.ask(channel, self.lines))
            await asyncio.sleep(0)  # the stage must be able to pass it on
        await answered(asked)
        return Played(asked)


@dataclass(frozen=True, slots=True)
class Chatter:
    """So many messages a second that the bot has to ignore."""

    messages: int = 2000
    per_second: float = 400.0
    channels: int = 20
    name: str = field(default="chatter", init=False)

    async def play(self, stage: BenchStage, group: str) -> Played:
        names = channels(group, self.channels)
        loop = asyncio.get_running_loop()
        began = loop.time()
        for number in range(self.messages):
            if number % _CHATTER_STEP == 0:
                await asyncio.sleep(max(0.0, began + number / self.per_second - loop.time()))
            stage.chat(names[number % len(names)], _CHATTER % number)
        return Played(chatter=self.messages)


@dataclass(frozen=True, slots=True)
class Day:
    """A day in a short time: people talk, and now and then somebody asks; short and long answers.

    The same seed gives the same day. Who still waits for an answer does not ask: they chat.
    """

    seconds: float = 15.0
    per_second: float = 40.0
    asking_share: float = 0.1
    channels: int = 60
    seed: int = 1
    name: str = field(default="day", init=False)

    async def play(self, stage: BenchStage, group: str) -> Played:
        chance = random.Random(self.seed)
        names = channels(group, self.channels)
        loop = asyncio.get_running_loop()
        asked: list[AskedQuestion] = []
        chatter, due, end = 0, loop.time(), loop.time() + self.seconds
        while (due := due + chance.expovariate(self.per_second)) < end:
            channel, lines = chance.choice(names), chance.choice((1, 1, 2, 3, 5, 8))
            asks = chance.random() < self.asking_share
            await asyncio.sleep(max(0.0, due - loop.time()))
            if asks and not stage.is_answering(channel):
                asked.append(stage.ask(channel, lines))
            else:
                stage.chat(channel, _CHATTER % chatter)
                chatter += 1
        await answered(asked)
        return Played(asked, chatter)


LoadMode = AtOnce | Chatter | Day


async def answered(asked: Sequence[AskedQuestion]) -> None:
    """Until all answers are complete, or the longest time is over."""
    if not asked:
        return
    waiting = [asyncio.create_task(one.done.wait()) for one in asked]
    longest = max(ideal_done_s(one.lines) for one in asked) + LONGEST_ANSWER_S
    _, late = await asyncio.wait(waiting, timeout=longest)
    for task in late:
        task.cancel()
