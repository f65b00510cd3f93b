"""Where a model's thoughts go, and the reactions that say how it is doing."""

from __future__ import annotations

import pytest

from discord_stage.model_servers.scripts import Refuse, Say, Stall, Think
from discord_stage.world.records import MessageFlag
from tests.e2e.bot_harness import BotHarness, run_with_bot


def test_the_thought_log_is_silent_and_speaks_as_the_persona() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        face = f"{here.stage.url}/cdn/faces/mochi.png"
        await here.persona("Mochi", triggers=("mochi",), avatar_url=face)
        logs = here.id_of("logs")
        options = {"key": "thought_log_channel_id", "value": f"<#{logs}>"}
        assert "thought_log_channel_id" in await here.run("config set", options)
        here.post("mochi?")
        await here.wait_for(lambda: len(here.ours("logs")) == 2)
        await here.idle()
        first, second = here.ours("logs")
        assert {(m.username, m.avatar) for m in (first, second)} == {("Mochi", face)}
        assert all(m.flags & MessageFlag.SUPPRESS_NOTIFICATIONS for m in (first, second))
        assert first.notified == second.notified == []
        told = first.embeds[0]["description"]
        assert "model-0 (openai)" in told
        assert f"/channels/{here.server_id}/{here.id_of('general')}/{here.ours()[-1].id}" in told
        assert "fish? " * 10 in told
        assert second.embeds[0]["description"].endswith("fish it is.")
        assert here.said()[-1] == "Fish."
        here.post("mochi, again")
        await here.asked_times(2)
        await here.idle()
        assert "fish?" not in here.asked().text

    long = Think("fish? " * 900, "fish it is.")
    run_with_bot(scenario, [long, Say("Fish.")], "No.")


@pytest.mark.parametrize(
    ("display", "shown"),
    [
        ("off", []),
        ("log", []),
        ("spoiler", ["||💭 hm, tea||"]),
        ("subtext", ["-# 💭 hm, tea"]),
    ],
)
def test_thoughts_in_the_channel(display: str, shown: list[str]) -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("tea?")
        (answer, *thoughts) = await here.says("Yes.", *shown)
        assert not answer.flags & MessageFlag.SUPPRESS_NOTIFICATIONS
        assert all(m.flags & MessageFlag.SUPPRESS_NOTIFICATIONS for m in thoughts)
        here.ask("sure?")
        await here.says("Yes.", *shown, "Sure.")
        assert "hm, tea" not in here.asked().text

    run_with_bot(scenario, [Think("hm, tea"), Say("Yes.")], "Sure.", reasoning_display=display)


def test_reactions_say_how_it_goes() -> None:
    async def scenario(here: BotHarness) -> None:
        one = here.ask("one")
        await here.asked_times(1)
        await here.wait_for(lambda: here.reactions(one) == ["👀"])
        await here.run("stop", user="ren")
        await here.wait_for(lambda: here.reactions(one) == [])
        two = here.ask("two")
        await here.wait_for(lambda: here.reactions(two) == ["✅"])
        three = here.ask("three")
        await here.wait_for(lambda: here.reactions(three) == ["⚠️"])

    run_with_bot(scenario, Stall(), "Fine.", Refuse("content_blocked"), status_reactions=True)
