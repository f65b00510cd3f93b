"""Every file of examples/ does what it says. tests/cli/test_settings_file.py has oshaberi.toml."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from openai import AsyncOpenAI

from discord_stage import Stage
from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Say
from discord_stage.testing import on_stage
from oshaberi.bot.tools import Tool, ToolBox, load_tools
from oshaberi.bot.tools.builtin import builtin_tools
from oshaberi.bot.tools.definition import installed_tool_text
from oshaberi.bot.tools.mcp import McpTools, mcp_servers
from oshaberi.chunks import ToolCall
from oshaberi.delivery.attachments import DeliveryPlugIns
from oshaberi.providers import connect
from oshaberi.providers.request.model_request import ToolResult
from tests.stream.scripted_streams import play
from tests.tools.fake_tool_context import MIKA, REN, FakeToolChannel, context

EXAMPLES = Path(__file__).parents[1] / "examples"
PRINTED = {
    "chunk_text.py": [
        "(thought: They want tea. Keep it short.)",
        "[newline] Tea is easy (you need",
        "water and leaves):",
        "[code_close] ```python",
        "steep(minutes=2)",
        "```",
        "[final] Enjoy 🍵",
    ],
    "own_sink.py": [
        "<mochi> Good evening!",
        "* mochi types for 750 ms",
        "<Mochi> I was asleep.",
        "completed 2 messages",
    ],
    "own_provider.py": ["polly polly wants wants tea tea "],
    "own_attachment.py": ["table.csv (rows: 2; columns: tea, minutes)"],
    "own_display_mode.py": ["**Mochi** · *sleepy*", "I was asleep."],
    "own_tool_text.py": ["The kettle is on.", "-# sent by a tool"],
    "stage_script.py": [
        "refused: 50013",
        "requests: 3",
        "in the channel: ['is anybody here?', 'yes, me']",
    ],
}
ELSEWHERE = {
    *("README.md", "ruff.toml", "oshaberi.toml", "own_tool.py", "mcp_server.py"),
    *("deliver.py", "in_your_bot.py", "my_bot.py", "test_my_bot.py"),
}


def python(*arguments: str, cwd: Path = EXAMPLES) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=cwd, env=environ
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports a file of examples/, as whoever works in that folder does."""
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def imported(name: str) -> ModuleType:
        monkeypatch.delitem(sys.modules, name, raising=False)
        return import_module(name)

    return imported


def test_none_is_forgotten() -> None:
    there = {path.name for path in EXAMPLES.iterdir() if path.is_file()}
    assert there == set(PRINTED) | ELSEWHERE


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_it_prints_what_it_should(name: str) -> None:
    assert python(name).stdout.splitlines() == PRINTED[name]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("my_bot.py", "set DISCORD_TOKEN, or: oshaberi stage exec examples/my_bot.py\n"),
        ("in_your_bot.py", "set DISCORD_TOKEN and OPENAI_API_KEY in the environment\n"),
        ("deliver.py", "set DISCORD_TOKEN and OPENAI_API_KEY in the environment\n"),
    ],
)
def test_what_is_missing_is_told_in_one_line(name: str, told: str) -> None:
    environ = {key: os.environ[key] for key in os.environ if not key.endswith(("TOKEN", "_KEY"))}
    done = subprocess.run(
        [sys.executable, name], capture_output=True, text=True, cwd=EXAMPLES, env=environ
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


def test_chunk_text_takes_a_file(tmp_path: Path) -> None:
    path = tmp_path / "answer.md"
    path.write_text("one\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", encoding="utf-8")
    lines = python("chunk_text.py", str(path)).stdout.splitlines()
    assert lines == ["[newline] one", "[table, rows: 1]"]


Install = Callable[[str, str], ModuleType]


@pytest.fixture
def install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: Callable[[str], ModuleType]
) -> Install:
    """Installs a file of examples/ as a package with the entry point that it tells of itself."""

    def installed(name: str, group: str) -> ModuleType:
        module = example(name)
        entry = re.search(r'entry-points\."(.+)"\]\n +(\w+) = "(.+)"', module.__doc__ or "")
        assert entry is not None
        assert entry[1] == group
        package = tmp_path / "plugged-1.0.dist-info"
        package.mkdir()
        (package / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
        (package / "entry_points.txt").write_text(f"[{entry[1]}]\n{entry[2]} = {entry[3]}\n")
        monkeypatch.syspath_prepend(tmp_path)
        return module

    return installed


def test_the_attachment_can_be_plugged_in(install: Install) -> None:
    install("own_attachment", "oshaberi.attachments")
    answer = "Look:\n```csv\ntea,minutes\ngreen,2\n```\n```csv\nalone\n```\nEnjoy."
    played = play(answer, plug_ins=DeliveryPlugIns.installed())
    assert played.messages == ["Look:", "```csv\nalone\n```", "Enjoy."]
    (file,) = played.of("file")
    assert (file["name"], file["source"]) == ("table.csv", "tea,minutes\ngreen,2")
    assert "```csv\ntea,minutes\ngreen,2\n```" in played.result.accumulated_text


def test_the_display_mode_can_be_plugged_in(install: Install) -> None:
    install("own_display_mode", "oshaberi.display_modes")
    persona = {"name": "Mochi", "is_alter": True, "avatar_url": "https://x.test/mochi.png"}
    plug_ins = DeliveryPlugIns.installed()
    assert plug_ins.mode_names == ("persona", "headline")
    answer = "I was asleep.\nWhat is it?"
    options: dict[str, Any] = {"text": {"persona": persona}, "plug_ins": plug_ins}
    played = play(answer, display_mode="headline", **options)
    assert played.messages == ["**Mochi**\nI was asleep.", "What is it?"]
    assert {record["via"] for record in played.of("message")} == {"bot"}
    assert {record["via"] for record in play(answer, **options).of("message")} == {"webhook"}


def test_the_tool_text_can_be_plugged_in(install: Install) -> None:
    install("own_tool_text", "oshaberi.tool_text")
    channel = FakeToolChannel()
    given = context(channel, tool_text=installed_tool_text())
    call = ToolCall("reply_to_message", {"text": "The kettle is on."})
    assert answers(builtin_tools(), call, given).content == "Sent, as 2 messages."
    (sink,) = channel.sinks.values()
    assert sink.contents == ["The kettle is on.", "-# sent by a tool"]
    assert given.cleaned_text("hi") == "hi\n-# sent by a tool"


def test_the_provider_can_be_plugged_in(install: Install) -> None:
    module = install("own_provider", "oshaberi.providers")
    assert asyncio.run(module.ask(connect("parrot", "polly"), "hello you")) == (
        "hello hello you you "
    )


def answers(tools: tuple[Tool, ...], call: ToolCall, given: Any) -> ToolResult:
    running = ToolBox(tools).run([call], given, timeout_ms=60_000, result_limit_chars=1000)
    return asyncio.run(running)[0]


def test_the_tools_can_be_used(example: Callable[[str], ModuleType]) -> None:
    example("own_tool")
    tools = load_tools(["own_tool"], EXAMPLES)
    rolled = answers(tools, ToolCall("roll_dice", {"sides": 6, "count": 3}), context())
    assert re.fullmatch(r'\{"rolled": \[[1-6], [1-6], [1-6]\], "sum": \d+\}', rolled.content)
    too_many = answers(tools, ToolCall("roll_dice", {"count": 99}), context())
    assert too_many.is_error
    assert "one to 20 dice" in too_many.content


def test_one_tool_is_for_managers(example: Callable[[str], ModuleType]) -> None:
    example("own_tool")
    tools = load_tools(["own_tool"], EXAMPLES)
    box = ToolBox(tools)
    assert [one.name for one in box.declarations(context(author=MIKA))] == ["roll_dice"]
    put_up = answers(tools, ToolCall("pin_up", {"text": "closed"}), context(author=REN))
    assert put_up.content == "Ren put it up: closed"


def test_the_tools_tell_what_the_model_is_told() -> None:
    assert "pin_up (manage_messages): Put a note" in python("own_tool.py").stdout


@pytest.mark.slow
def test_the_mcp_server_can_be_plugged_in() -> None:
    kettle = {"command": sys.executable, "args": [str(EXAMPLES / "mcp_server.py")]}

    async def main() -> list[ToolResult]:
        async with McpTools(mcp_servers({"kettle": kettle})) as mcp:
            calls = [ToolCall("brewing_temperature", {"tea": tea}) for tea in ("green", "mud")]
            box = ToolBox(mcp.tools)
            found = await box.run(calls, context(), timeout_ms=20_000, result_limit_chars=1000)
            return list(found)

    green, mud = asyncio.run(main())
    assert (green.content, green.is_error) == ("80 °C", False)
    assert mud.is_error
    assert "known are green, black, white" in mud.content


@pytest.mark.usefixtures("lines_stay_apart")
def test_the_delivery_works_in_a_bot_of_ones_own(example: Callable[[str], ModuleType]) -> None:
    tea_bot = example("in_your_bot").TeaBot

    async def play(stage: Stage, bot: Any) -> None:
        async with ModelServer(OpenAIWire(), [Say("Gre", "en tea.\nOr bl", "ack?")]) as server:
            bot._model = connect("openai", "any-model", base_url=server.url)
            stage.people.post("general", f"<@{stage.world.bot.id}> which tea?", user="mika")
            await stage.wait_for(lambda: "Or black?" in stage.world.contents("general"))
            await stage.settled()
            await bot._model.aclose()
        assert stage.world.contents("general")[1:] == ["Green tea.", "Or black?"]

    def client() -> Any:
        return tea_bot(connect("replay", str(EXAMPLES.parent / "tests/scenes")), degree=1)

    on_stage(play, client=client, speed=20)


@pytest.mark.usefixtures("lines_stay_apart")
def test_deliver_works_in_an_ordinary_bot(example: Callable[[str], ModuleType]) -> None:
    tea_bot = example("deliver").TeaBot

    async def play(stage: Stage, bot: Any) -> None:
        first, second = Say("Gre", "en tea.\nOr bl", "ack?"), Say("Two minutes.")
        async with (
            ModelServer(OpenAIWire(), [first]) as server,
            AsyncOpenAI(base_url=server.url, api_key="any") as model,
        ):
            server.play(second)
            bot.model = model
            stage.people.post("general", f"<@{stage.world.bot.id}> which tea?", user="mika")
            await stage.wait_for(lambda: "Or black?" in stage.world.contents("general"))
            stage.people.run("ask", {"question": "how long?"}, user="mika")
            there = stage.world.messages[stage.world.channel("general").id]
            for_mika = stage.world.user("mika").id
            await stage.wait_for(
                lambda: (
                    ("Two minutes.", for_mika)
                    in [(message.content, message.ephemeral_to) for message in there.values()]
                )
            )
            await stage.settled()
        assert stage.world.contents("general")[1:] == ["Green tea.", "Or black?"]

    on_stage(play, client=lambda: tea_bot(None, guild_ready_timeout=0.1), speed=20)


def test_the_bot_is_tested_on_the_stage() -> None:
    options = ("-q", "-p", "no:cacheprovider")
    assert "3 passed" in python("-m", "pytest", *options, "test_my_bot.py").stdout
