"""How many rooms a message walks through: `python -m tests.walks`.

Plays three answers of the whole bot on the stage and counts, from the question to the end of the
turn, the modules of `oshaberi` in which something runs and the calls from one module to another. A
call of a coroutine counts once, however often it is resumed. `--functions` leaves coroutines out,
as the first version of this script did; compare figures of one kind only. `--calls` and `--modules`
name what was counted.
"""

from __future__ import annotations

import asyncio
import dis
import json
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

import oshaberi
from discord_stage.model_servers.scripts import Call, Say, Stall
from tests.bot.client_harness import MEMBER
from tests.e2e.bot_harness import Answer, BotHarness, BotScenario, run_with_bot

ROOT = f"{Path(oshaberi.__file__).parent}/"
NOT_OURS = ("bot/local_run/",)
"""The demo model is the other side of the wire, as the stage is."""

TABLE = "| tea | price |\n|---|---|\n| sencha | 3 |\n| oolong | 4 |\n"


@dataclass
class Walk:
    """The modules of one walk, and the calls between two of them."""

    functions_only: bool = False
    modules: set[str] = field(default_factory=set)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)

    def note(self, frame: FrameType, event: str, _arg: object) -> None:
        if event != "call" or frame.f_lasti > self._last_first_step(frame.f_code):
            return
        module = _module_of(frame)
        if module is None:
            return
        self.modules.add(module)
        caller = _caller_of(frame)
        if caller is not None and caller != module:
            self.calls[caller, module] += 1

    def _last_first_step(self, code: CodeType) -> int:
        """Return up to which instruction a call begins; later ones resume it."""
        return 0 if self.functions_only else _first_resume(code)


@cache
def _first_resume(code: CodeType) -> int:
    return next(step.offset for step in dis.get_instructions(code) if step.opname == "RESUME")


def _module_of(frame: FrameType) -> str | None:
    path = frame.f_code.co_filename
    if not path.startswith(ROOT):
        return None
    name = path.removeprefix(ROOT)
    return None if name.startswith(NOT_OURS) else name.removesuffix(".py")


def _caller_of(frame: FrameType) -> str | None:
    """Return the module of ours that called, also through a library."""
    back = frame.f_back
    while back is not None:
        module = _module_of(back)
        if module is not None:
            return module
        back = back.f_back
    return None


@contextmanager
def walked(walk: Walk) -> Iterator[None]:
    threading.setprofile(walk.note)
    sys.setprofile(walk.note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


async def _plain(here: BotHarness) -> None:
    await _ask(here, "tea?", "Which one?")


async def _tool_and_table(here: BotHarness) -> None:
    await _ask(here, "what have you got?", "Enjoy!")


async def _stop(here: BotHarness) -> None:
    await _ask(here, "a story?", "Once upon a time.")
    await here.run("stop", user=MEMBER)


async def _ask(here: BotHarness, question: str, last: str) -> None:
    """Ask, and wait for the last message of the answer."""
    times = here.said().count(last)
    here.ask(question)
    await here.wait_for(lambda: here.said().count(last) > times)


PLAIN: Answer = "Gladly!\nWhich one?"
CALL = Call("server_info", json.dumps({}), "call_0")
WALKS: dict[str, tuple[BotScenario, tuple[Answer, ...]]] = {
    "plain answer": (_plain, (PLAIN,)),
    "tool and table": (_tool_and_table, ([Say("Let me see."), CALL], f"Here:\n{TABLE}Enjoy!")),
    "/stop": (_stop, ([Say("Once upon a time.\nThere was"), Stall()],)),
}


def measure(scenario: BotScenario, *answers: Answer) -> Walk:
    """Play it once to fill caches and imports, then once more, counting."""
    walk = Walk("--functions" in sys.argv)

    async def twice(here: BotHarness) -> None:
        await scenario(here)
        await here.idle()
        with walked(walk):
            await scenario(here)
            await here.idle()
            await asyncio.sleep(0)

    run_with_bot(twice, *answers, *answers)
    return walk


def main() -> None:
    for name, (scenario, answers) in WALKS.items():
        walk = measure(scenario, *answers)
        calls = walk.calls.total()
        sys.stdout.write(
            f"{name:15} {len(walk.modules):4} modules {calls:6} calls across modules\n"
        )
        if "--calls" in sys.argv:
            for (caller, module), times in walk.calls.most_common():
                sys.stdout.write(f"  {times:5}  {caller} -> {module}\n")
        if "--modules" in sys.argv:
            sys.stdout.writelines(f"  {one}\n" for one in sorted(walk.modules))


if __name__ == "__main__":
    main()
