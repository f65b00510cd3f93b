"""The toolbox: who may use what, many at once, and every way in which a tool goes wrong."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from oshaberi.bot.tools import Tool, ToolBox, ToolContext, ToolFailedError, tool
from oshaberi.bot.tools.calls import MOST_CALLS
from oshaberi.chunks import ToolCall
from oshaberi.errors import ConfigError
from oshaberi.providers.request.model_request import ToolResult
from oshaberi.virtual_time import run_virtual
from tests.tools.fake_tool_context import MIKA, REN, context

TOKEN = "sk-abcdefghijklmnop"
KEY = "correct horse battery"


def made(run: Callable[..., Any], name: str = "it", **options: Any) -> Tool:
    """A tool without arguments that runs this."""

    async def run_it(_context: ToolContext, args: Mapping[str, Any]) -> Any:
        return await run(**args)

    return Tool(name, "Does it.", {"type": "object"}, run_it, **options)


async def ask(box: ToolBox, *calls: ToolCall, limit: int = 20_000) -> tuple[ToolResult, ...]:
    return await box.run(calls, context(), timeout_ms=60_000, result_limit_chars=limit)


def answer(run: Callable[..., Any], limit: int = 20_000, **options: Any) -> ToolResult:
    box = ToolBox([made(run)], **options)
    (result,) = run_virtual(ask(box, ToolCall("it"), limit=limit))
    return result


def returning(value: Any) -> Callable[[], Any]:
    async def run() -> Any:
        return value

    return run


def raising(error: BaseException) -> Callable[[], Any]:
    async def run() -> Any:
        raise error

    return run


@tool
async def roll(sides: int = 6, times: int | None = None) -> str:
    """Roll a die."""
    return f"{times or 1}d{sides}"


@tool(permission="manage_messages")
async def tidy() -> str:
    """Tidy up."""
    return "tidy"


@tool(permission="manage_server", offered=lambda given: given.turn.web_page_tool_enabled)
async def rule() -> str:
    """Rule."""
    return "ruled"


# -- permissions ---------------------------------------------------------------------------------


def test_only_what_is_permitted_is_declared() -> None:
    box = ToolBox([roll, tidy])
    assert [one.name for one in box.declarations(context(author=MIKA))] == ["roll"]
    assert [one.name for one in box.declarations(context(author=REN))] == ["roll", "tidy"]
    declared = box.declarations(context())[0]
    assert (declared.description, declared.parameters) == ("Roll a die.", roll.parameters)


def test_what_is_not_permitted_is_not_run_either() -> None:
    box = ToolBox([roll, tidy, rule])
    (result,) = run_virtual(ask(box, ToolCall("tidy")))
    assert result == ToolResult("whoever asked may not use tidy here", is_error=True)
    not_offered = box.run(
        [ToolCall("rule")], context(author=REN), timeout_ms=100, result_limit_chars=1000
    )
    assert run_virtual(not_offered)[0].is_error


def test_a_predicate_that_fails_offers_nothing() -> None:
    def offered(_context: ToolContext) -> bool:
        raise RuntimeError("oops")

    box = ToolBox([made(returning("x"), offered=offered), roll])
    assert [one.name for one in box.declarations(context())] == ["roll"]


# -- calls ---------------------------------------------------------------------------------------


def test_a_model_cannot_ask_for_any_number_of_calls_at_once() -> None:
    """Each may be a request to Discord or to the web. What is not run is answered all the same."""
    begun: list[str] = []

    @tool
    async def note(name: str) -> str:
        """Note."""
        begun.append(name)
        return name

    calls = [ToolCall("note", {"name": str(number)}) for number in range(200)]
    results = run_virtual(ask(ToolBox([note]), *calls))
    assert begun == [str(number) for number in range(MOST_CALLS)]
    assert [one.content for one in results[:MOST_CALLS]] == begun
    refused = ToolResult("not run: at most 16 calls at once; ask again", is_error=True)
    assert set(results[MOST_CALLS:]) == {refused}
    assert len(results) == 200


def test_calls_run_at_once_and_answer_in_order() -> None:
    started: list[str] = []

    @tool
    async def wait(name: str, seconds: float) -> str:
        """Wait."""
        started.append(name)
        await asyncio.sleep(seconds)
        return name

    async def main() -> tuple[list[str], float]:
        times = {"a": 3.0, "b": 1.0, "c": 2.0}
        calls = [ToolCall("wait", {"name": n, "seconds": s}) for n, s in times.items()]
        results = await ask(ToolBox([wait]), *calls)
        return [one.content for one in results], asyncio.get_running_loop().time()

    assert run_virtual(main()) == (["a", "b", "c"], 3.0)
    assert started == ["a", "b", "c"]
    assert run_virtual(ask(ToolBox([wait]))) == ()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (ToolCall("rol"), "there is no tool 'rol'; did you mean: roll"),
        (ToolCall("xyzzy"), "there is no tool 'xyzzy'; there are: roll"),
        (ToolCall("roll", error="not JSON: line 1"), "not JSON: line 1"),
        (
            ToolCall("roll", {"sides": "six"}),
            "wrong arguments for roll: sides: 'six' is not of type 'integer'",
        ),
        (
            ToolCall("roll", {"side": 6}),
            "wrong arguments for roll: Additional properties are not allowed "
            "('side' was unexpected)",
        ),
    ],
)
def test_what_the_model_did_wrong_is_told(call: ToolCall, words: str) -> None:
    assert run_virtual(ask(ToolBox([roll]), call)) == (ToolResult(words, is_error=True),)


def test_null_means_left_out() -> None:
    calls = [ToolCall("roll", {"sides": None, "times": None}), ToolCall("roll", {"times": 2})]
    results = run_virtual(ask(ToolBox([roll]), *calls))
    assert [one.content for one in results] == ["1d6", "2d6"]


# -- results -------------------------------------------------------------------------------------


@dataclass
class Weather:
    sky: str
    degrees: tuple[int, ...]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain ✓", "plain ✓"),
        (None, "(nothing was returned)"),
        ("  \n", "(nothing was returned)"),
        (0, "0"),
        ({"a": ["ü", None, True]}, '{"a": ["ü", null, true]}'),
        (Weather("blue", (20, 3)), '{"sky": "blue", "degrees": [20, 3]}'),
        ({"s": {1}}, '{"s": [1]}'),
        ("half \ud83d\x00", "half \ufffd\ufffd"),
    ],
)
def test_what_a_tool_returns_becomes_text(value: Any, text: str) -> None:
    assert answer(returning(value)) == ToolResult(text)


@pytest.mark.parametrize("value", [b"bytes", object(), {"a": object()}, {(1, 2): 3}])
def test_what_has_no_form_in_json_is_an_error(value: Any) -> None:
    result = answer(returning(value))
    assert result.is_error
    assert result.content.startswith("the tool returned what is not JSON")


def test_a_circle_is_an_error() -> None:
    circle: list[Any] = []
    circle.append(circle)
    assert answer(returning(circle)).is_error


@pytest.mark.parametrize(
    "value", ["x" * 10_000_000, ["row " * 10] * 250_000, {"deep": ["y" * 10_000_000]}]
)
def test_ten_megabytes_are_cut(value: Any) -> None:
    result = answer(returning(value), limit=1000)
    assert not result.is_error
    assert 900 < len(result.content) <= 1000
    assert result.content.endswith("\n[cut: the result is longer than 1000 characters]")


def test_no_character_is_cut_apart() -> None:
    family = "👨‍👩‍👧‍👦"
    content = answer(returning(family * 200), limit=300).content.partition("\n")[0]
    assert content == family * (len(content) // len(family))
    assert content


def test_exactly_the_limit_is_not_cut() -> None:
    assert answer(returning("x" * 300), limit=300).content == "x" * 300


# -- failures ------------------------------------------------------------------------------------


def test_a_failure_on_purpose_is_told_as_it_is() -> None:
    assert answer(raising(ToolFailedError("no tea left"))) == ToolResult("no tea left", True)


@pytest.mark.parametrize(
    "error", [ValueError("no"), SystemExit(3), RecursionError("deep"), KeyError("k"), MemoryError()]
)
def test_an_exception_is_told_without_a_traceback(error: BaseException) -> None:
    result = answer(raising(error))
    assert result.is_error
    assert result.content.startswith(f"it failed: {type(error).__name__}: ")
    assert "Traceback" not in result.content
    assert __file__ not in result.content


def test_a_tool_that_cancels_itself() -> None:
    result = answer(raising(asyncio.CancelledError()))
    assert result == ToolResult("it was cut off", is_error=True)


def test_errors_show_no_secrets() -> None:
    text = f"GET https://u:pass@x.test/?key={TOKEN} with {KEY}"
    result = answer(raising(ValueError(text)), secrets=[KEY])
    assert TOKEN not in result.content
    assert "u:pass" not in result.content
    assert KEY not in result.content


def test_results_show_no_secret_of_ours() -> None:
    result = answer(returning({"env": f"KEY={KEY}", "token": TOKEN}), secrets=[KEY])
    assert json.loads(result.content) == {"env": "KEY=[secret]", "token": TOKEN}


def test_a_long_error_is_cut() -> None:
    result = answer(raising(ValueError("x" * 100_000)))
    assert 1000 < len(result.content) <= 2000


# -- time ----------------------------------------------------------------------------------------


def test_a_tool_has_its_time() -> None:
    async def slow() -> str:
        await asyncio.sleep(10)
        return "late"

    async def main() -> tuple[list[str], float]:
        box = ToolBox([made(slow, "slow"), made(slow, "own", timeout_ms=20_000), roll])
        calls = [ToolCall("slow"), ToolCall("own"), ToolCall("roll")]
        results = await box.run(calls, context(), timeout_ms=2500, result_limit_chars=1000)
        return [one.content for one in results], asyncio.get_running_loop().time()

    assert run_virtual(main()) == (["slow did not end within 2.5 s", "late", "1d6"], 10.0)


def test_a_tool_that_will_not_be_cancelled_is_left_behind() -> None:
    freed = asyncio.Event()
    ended: list[str] = []

    async def stubborn() -> None:
        while not freed.is_set():
            try:
                await freed.wait()
            except asyncio.CancelledError:
                ended.append("cancelled")
        ended.append("freed")

    async def main() -> float:
        (result,) = await ask(ToolBox([made(stubborn)]), ToolCall("it"))
        assert result.content == "it did not end within 60 s"
        at = asyncio.get_running_loop().time()
        freed.set()
        return at

    assert run_virtual(main()) == 60.0
    assert ended == ["cancelled", "freed"]


def test_a_cancellation_is_passed_on_at_once() -> None:
    seen: list[str] = []

    async def hangs() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("cancelled")

    async def main() -> float:
        box = ToolBox([made(hangs)])
        running = asyncio.create_task(ask(box, ToolCall("it"), ToolCall("it")))
        await asyncio.sleep(1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        at = asyncio.get_running_loop().time()
        await asyncio.sleep(0.001)
        return at

    assert run_virtual(main()) == 1.0
    assert seen == ["cancelled", "cancelled"]


def test_a_thread_that_hangs_is_left_behind() -> None:
    free = threading.Event()

    @tool
    def hangs() -> str:
        """Hang."""
        free.wait()
        return "late"

    async def main() -> ToolResult:
        box = ToolBox([hangs])
        (result,) = await box.run(
            [ToolCall("hangs")], context(), timeout_ms=1, result_limit_chars=1000
        )
        return result

    assert asyncio.run(main()) == ToolResult("hangs did not end within 0.001 s", is_error=True)
    free.set()


STUCK = """
import asyncio, threading
from oshaberi.chunks import ToolCall
from oshaberi.bot.tools import ToolBox, tool
from tests.tools.fake_tool_context import context

@tool
def stuck() -> str:
    "Never ends."
    threading.Event().wait()

async def main():
    box = ToolBox([stuck])
    results = await box.run([ToolCall("stuck")], context(), timeout_ms=1, result_limit_chars=500)
    print(results[0].content)

asyncio.run(main())
"""


def test_a_thread_that_never_ends_does_not_keep_the_program() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("stuck did not end within 0.001 s\n", STUCK_LOG)


STUCK_LOG = "tool stuck did not end within 1 ms\n"


def test_threads_that_pile_up_are_refused() -> None:
    from oshaberi.bot.tools.daemon_threads import DaemonThreads

    free = threading.Event()
    threads = DaemonThreads(most=2)
    running = [threads.submit(free.wait) for _ in range(2)]
    with pytest.raises(ToolFailedError, match="too many tools are still at work"):
        threads.submit(free.wait)
    free.set()
    assert [one.result(timeout=30) for one in running] == [True, True]


# -- names ---------------------------------------------------------------------------------------


def foreign(name: str, source: str) -> Tool:
    return made(returning(f"{source}: {name}"), name, source=source)


def test_foreign_tools_that_share_a_name_get_a_prefix() -> None:
    theirs = (
        foreign("roll", "one"),
        foreign("find", "one"),
        foreign("find", "the other"),
        foreign("only", "one"),
    )
    box = ToolBox([roll], more=lambda: theirs)
    names = [one.name for one in box.declarations(context())]
    assert names == ["roll", "one_roll", "one_find", "the_other_find", "only"]
    results = run_virtual(ask(box, ToolCall("one_roll"), ToolCall("the_other_find")))
    assert [one.content for one in results] == ["one: roll", "the other: find"]


def test_tools_may_come_and_go() -> None:
    theirs: list[tuple[Tool, ...]] = [(foreign("a", "s"),)]
    box = ToolBox(more=lambda: theirs[-1])
    assert [one.name for one in box.declarations(context())] == ["a"]
    theirs.append((foreign("b", "s"),))
    assert [one.name for one in box.declarations(context())] == ["b"]
    assert run_virtual(ask(box, ToolCall("a")))[0].is_error


def test_two_of_ours_with_one_name_are_a_mistake() -> None:
    with pytest.raises(ConfigError, match=r"tools: 'roll' is there twice \(.*\); rename one"):
        ToolBox([roll, made(returning(1), "roll")])


def test_a_long_description_is_cut() -> None:
    long = Tool("long", "word " * 1000, {"type": "object"}, roll.run)
    description = ToolBox([long]).declarations(context())[0].description
    assert len(description) == 1024
    assert description.endswith("…")


# -- the log -------------------------------------------------------------------------------------


def test_every_call_is_in_the_log_without_what_it_was_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def slow(word: str) -> str:
        await asyncio.sleep(1.5)
        return word

    box = ToolBox([made(slow, "slow"), made(raising(ToolFailedError(KEY)), "bad")])
    calls = [ToolCall("slow", {"word": KEY}), ToolCall("bad"), ToolCall("none\nsuch")]
    with caplog.at_level("INFO", "oshaberi.bot.tools"):
        run_virtual(ask(box, *calls))
    lines = sorted(record.getMessage() for record in caplog.records)
    assert lines == [
        "tool 'none\\nsuch' failed, 0 ms",
        "tool bad failed, 0 ms",
        "tool slow answered, 1500 ms",
    ]
