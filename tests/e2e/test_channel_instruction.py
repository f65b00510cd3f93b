"""`/channel instruction`: what an admin has the model do in a channel, and what it inherits."""

from __future__ import annotations

from tests.bot.client_harness import ADMIN, MEMBER, MODERATOR, world
from tests.e2e.bot_harness import BotHarness, run_lives, run_with_bot

PLACES = world(
    {"name": "games", "type": "category"},
    {"name": "chess", "category": "games", "threads": ["openings"]},
    "general",
)


async def instruct(here: BotHarness, text: str, place: str) -> str:
    asked = here.stage.people.run(
        "channel instruction", {"in": place}, user=ADMIN, channel="general"
    )
    await here.wait_for(lambda: asked.modal)
    return await here.private(here.stage.people.submit(asked, {"text": text}))


async def system_in(here: BotHarness, channel: str) -> str:
    count = len(here.model.requests)
    here.ask("how?", channel=channel)
    await here.asked_times(count + 1)
    await here.idle()
    return here.asked().system


def test_the_nearest_instruction_is_system_text_and_is_inherited() -> None:
    async def scenario(here: BotHarness) -> None:
        told = await instruct(here, "Talk like a pirate.\nNever hurry.", "games")
        assert told == (
            f"The model follows this in <#{here.id_of('games')}>, from the next answer on:\n"
            "Talk like a pirate. Never hurry."
        )
        system = await system_in(here, "openings")
        assert "You love tea." in system
        assert "Talk like a pirate.\nNever hurry." in system
        assert "pirate" not in await system_in(here, "general")
        await instruct(here, "Speak of openings only.", "openings")
        system = await system_in(here, "openings")
        assert "Speak of openings only." in system
        assert "pirate" not in system
        assert "pirate" in await system_in(here, "chess")
        told = await instruct(here, "", "openings")
        assert told == f"<#{here.id_of('openings')}> has no instruction of its own any more."
        assert "pirate" in await system_in(here, "openings")

    run_with_bot(scenario, *["Aye."] * 5, described=PLACES)


def test_only_admins_write_and_see_it() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.stage.people.run(
            "channel instruction", {"in": "chess"}, user=MODERATOR, channel="general"
        )
        assert await here.private(asked) == (
            "Only members with the permission Manage Server can change this."
        )
        await instruct(here, "Hold `**` back.", "chess")
        told = await here.run("status", user=ADMIN, channel="openings")
        line = f"Instruction here (from the channel <#{here.id_of('chess')}>): "
        assert line + "Hold \\`\\*\\*\\` back." in told
        assert "Instruction" not in await here.run("status", user=MEMBER, channel="openings")
        long = {"key": "channel_instruction", "value": "x" * 2001}
        told = await here.run("config set", long, user=ADMIN)
        assert told == "channel_instruction: is not a text of at most 2000 characters"
        asked = here.stage.people.run(
            "channel instruction", {"in": "chess"}, user=ADMIN, channel="general"
        )
        await here.wait_for(lambda: asked.modal)
        guild = here.stage.world.guilds[here.server_id]
        guild.members[here.stage.world.user(ADMIN).id].roles.clear()
        assert await here.private(here.stage.people.submit(asked, {"text": "Obey me."})) == (
            "Only members with the permission Manage Server can change this."
        )

    run_with_bot(scenario, described=PLACES)


def test_it_survives_a_restart() -> None:
    async def before(here: BotHarness) -> None:
        await instruct(here, "Talk like a pirate.", "chess")
        assert "pirate" in await system_in(here, "chess")

    async def after(here: BotHarness) -> None:
        assert "pirate" in await system_in(here, "openings")

    run_lives([before, after], *["Aye."] * 2, described=PLACES)
