"""Where the bot answers and whom: direct messages, threads, auto channels, lists, cooldowns."""

from __future__ import annotations

from tests.bot.client_harness import MEMBER, OWNER, world
from tests.e2e.bot_harness import BotHarness, run_with_bot

THREADED = world({"name": "general", "threads": ["about tea"]}, "lounge", "logs")


def test_a_direct_message_is_answered_there() -> None:
    async def scenario(here: BotHarness) -> None:
        here.stage.people.dm("are we alone?", user=MEMBER)
        await here.says("Just us.", channel=f"@{MEMBER}")
        assert "a direct message" in here.asked().text
        here.stage.people.dm("good", user=MEMBER)
        await here.says("Just us.", "Yes.", channel=f"@{MEMBER}")
        assert here.asked().of("assistant") == ["Just us."]
        assert here.said() == []

    run_with_bot(scenario, "Just us.", "Yes.")


def test_a_thread_is_a_conversation_of_its_own() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Mochi", triggers=("mochi",))
        here.post("not for the thread")
        here.ask("green or black?", channel="about tea")
        await here.says("Green.", channel="about tea")
        assert "not for the thread" not in here.asked().text
        here.post("and mochi?", channel="about tea")
        await here.wait_for(lambda: here.said("about tea")[-1:] == ["Milk."])
        assert here.ours("about tea")[-1].username == "Mochi"
        assert here.said() == []

    run_with_bot(scenario, "Green.", "Milk.", described=THREADED)


def test_every_message_of_an_auto_channel_is_answered() -> None:
    async def scenario(here: BotHarness) -> None:
        told = await here.run("config set", {"key": "auto_channels", "value": _mention(here)})
        assert "auto_channels" in told
        here.post("nobody is asked here", channel="general")
        here.post("lovely weather", channel="lounge")
        await here.says("It is.", channel="lounge")
        assert here.said() == []
        why = await here.choose("Why this turn", here.ours("lounge")[0].id)
        assert "auto_channels" in why

    run_with_bot(scenario, "It is.", described=THREADED)


def _mention(here: BotHarness) -> str:
    return f"<#{here.id_of('lounge')}>"


def test_lists_say_who_is_answered_and_where() -> None:
    async def scenario(here: BotHarness) -> None:
        ren, lounge = here.stage.world.user(MEMBER).id, here.id_of("lounge")
        for key, value, asked, why in [
            ("blocked_users", ren, "blocked", "is blocked"),
            ("allowed_users", here.stage.world.user(OWNER).id, "unlisted", "allowed_users"),
            ("allowed_channels", lounge, "elsewhere", "allowed_channels"),
            ("blocked_channels", here.id_of("general"), "not here", "is blocked"),
        ]:
            await here.run("config set", {"key": key, "value": str(value)})
            refused = here.ask(asked)
            here.ask("and me?", user=OWNER, channel="lounge")
            await here.wait_for(lambda: "Yes." in here.said("lounge"))
            await here.idle()
            here.stage.people.delete(here.ours("lounge")[0])
            assert why in await here.choose("Why this turn", refused)
            await here.run("config reset", {"key": key})
        assert here.said() == []
        here.ask("now?")
        await here.says("Now.")

    run_with_bot(scenario, "Yes.", "Yes.", "Yes.", "Yes.", "Now.", described=THREADED)


def test_who_asks_too_soon_waits() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("one")
        await here.says("First.")
        soon = here.ask("two")
        await here.wait_for(lambda: here.reactions(soon) == ["⏳"])
        here.ask("three", user=OWNER)
        await here.says("First.", "Second.")
        assert len(here.model.requests) == 2

    run_with_bot(scenario, "First.", "Second.", cooldown_ms=3_600_000)


def test_other_bots_are_not_answered() -> None:
    described = world(members=[OWNER, MEMBER, {"name": "robot", "bot": True}])

    async def scenario(here: BotHarness) -> None:
        told = here.ask("hello from a machine", user="robot")
        here.ask("hello from a person")
        await here.wait_for(lambda: "Hi." in here.said())
        await here.idle()
        assert len(here.model.requests) == 1
        assert "bots are not answered" in await here.choose("Why this turn", told)

    run_with_bot(scenario, "Hi.", described=described)
