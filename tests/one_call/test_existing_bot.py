"""A bot of somebody else's, changed as docs/library.md shows it: on the stage, before and after."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from discord_stage import Stage
from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Say, Status, Step
from discord_stage.testing import on_stage

PAGE = Path(__file__).parents[2] / "docs" / "library.md"
MOST_CHANGED = 4
WHOLE = (
    '{"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,'
    ' "finish_reason": "stop", "message": {"role": "assistant", "content": "Green tea."}}]}'
)


def lines_of_the_page() -> list[str]:
    found = re.search(r"```diff\n(.+?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1].splitlines()


def program(left_out: str) -> str:
    """The bot before (`+` is left out) or after (`-` is left out) the change."""
    return "\n".join(line[1:] for line in lines_of_the_page() if line[:1] != left_out)


def check(
    left_out: str, monkeypatch: pytest.MonkeyPatch, script: Step, expected: list[str]
) -> None:
    async def play(stage: Stage, bot: Any) -> None:
        async with (
            ModelServer(OpenAIWire(), [script]) as server,
            bot.model_of_the_program.with_options(base_url=server.url) as model,
        ):
            bot.names_of_the_program["model"] = model
            stage.people.post("general", f"<@{stage.world.bot.id}> which tea?", user="mika")
            await stage.wait_for(lambda: expected[-1] in stage.world.contents("general"))
            await stage.settled()
            assert stage.world.contents("general")[1:] == expected

    def client() -> Any:
        names: dict[str, Any] = {}
        exec(compile(program(left_out), str(PAGE), "exec"), names)
        names["bot"].names_of_the_program = names
        names["bot"].model_of_the_program = names["model"]
        return names["bot"]

    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody")
    on_stage(play, client=client, speed=20)


def test_it_is_few_lines() -> None:
    added = [line for line in lines_of_the_page() if line.startswith("+")]
    removed = [line for line in lines_of_the_page() if line.startswith("-")]
    assert len(added) <= MOST_CHANGED
    assert len(removed) <= len(added)
    assert "oshaberi" not in program("+")


def test_before_it_replies_once(monkeypatch: pytest.MonkeyPatch) -> None:
    check("+", monkeypatch, Status(200, WHOLE), ["Green tea."])


def test_after_it_delivers_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    words = Say("Gre", "en tea.\nOr bl", "ack?")
    check("-", monkeypatch, words, ["Green tea.", "Or black?"])
