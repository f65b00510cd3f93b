"""Whom an answer may ping: people of the conversation, and roles that the asker may ping."""

from __future__ import annotations

import pytest

from discord_stage.model_servers.scripts import Say
from discord_stage.world.permissions import NAMES
from discord_stage.world.records import StageMessage
from tests.bot.client_harness import ADMIN, MEMBER, MODERATOR, OWNER, world
from tests.e2e.bot_harness import BotHarness, run_with_bot
from tests.e2e.test_tools import call

ROLES = [
    {"name": "admins", "permissions": ["manage_guild", "mention_everyone"]},
    {"name": "mods", "permissions": ["manage_messages"]},
    {"name": "tea", "mentionable": True},
]
LOUD = world(roles=ROLES) | {"bot": {"permissions": list(NAMES)}}
"""A bot that may mention every role."""


def role(here: BotHarness, name: str) -> int:
    roles = here.stage.world.guilds[here.server_id].roles.values()
    return next(one.id for one in roles if one.name == name)


def user(here: BotHarness, name: str) -> int:
    return here.stage.world.user(name).id


async def answered(
    here: BotHarness, text: str, *, asker: str, question: str = "hi"
) -> StageMessage:
    """Somebody asks, the model writes `text`: the message that comes of it."""
    before = len(here.ours())
    here.model.play(Say(text))
    here.ask(question, user=asker)
    await here.wait_for(lambda: len(here.ours()) > before)
    await here.idle()
    return here.ours()[-1]


@pytest.mark.parametrize("asker", [MEMBER, ADMIN])
@pytest.mark.parametrize("is_alter", [False, True], ids=["bot", "webhook"])
def test_a_role_is_pinged_only_if_the_asker_may(asker: str, is_alter: bool) -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=not is_alter)
        if is_alter:
            await here.persona("Quiet", is_default=True)
        mods, tea, everyone = role(here, "mods"), role(here, "tea"), here.server_id
        text = f"<@&{mods}> <@&{tea}> <@&{everyone}> @everyone"
        question = "Oshaberi, call them" if is_alter else "call them"
        sent = await answered(here, text, asker=asker, question=question)
        assert (sent.webhook_id is not None) is is_alter
        assert sorted(sent.mention_roles) == sorted([tea, mods] if asker == ADMIN else [tea])
        assert not sent.mention_everyone

    run_with_bot(scenario, described=LOUD)


def test_a_reply_to_an_admin_does_not_ping_with_the_admins_rights() -> None:
    async def scenario(here: BotHarness) -> None:
        theirs = here.post("I am an admin", user=ADMIN)
        text = f"<@&{role(here, 'mods')}> look"
        here.model.play(call("reply_to_message", text=text, message_id=str(theirs)))
        here.model.play(Say("Done."))
        here.ask("call the mods", user=MEMBER)
        await here.wait_for(lambda: here.said()[-1:] == ["Done."])
        await here.idle()
        reply = here.ours()[0]
        assert reply.content == text
        assert reply.mention_roles == []

    run_with_bot(scenario, described=LOUD)


def test_a_regenerated_answer_pings_no_role_with_somebody_elses_rights() -> None:
    async def scenario(here: BotHarness) -> None:
        text = f"<@&{role(here, 'mods')}> look"
        await answered(here, text, asker=MEMBER)
        here.model.play(Say(text))
        await here.run("regenerate", user=OWNER)
        await here.asked_times(2)
        await here.idle()
        assert [m.mention_roles for m in here.ours()] == [[]]

    run_with_bot(scenario, described=LOUD)


def test_users_are_pinged_only_if_they_are_in_the_conversation() -> None:
    async def scenario(here: BotHarness) -> None:
        here.post("I was here", user=MODERATOR)
        admin, mod, ren = (user(here, name) for name in (ADMIN, MODERATOR, MEMBER))
        sent = await answered(here, f"<@{admin}> <@{mod}> <@!{ren}>", asker=MEMBER)
        assert sorted(sent.mentions) == sorted([mod, ren])
        sent = await answered(here, f"<@{admin}>", asker=MEMBER, question=f"call <@{admin}>")
        assert sent.mentions == [admin]

    run_with_bot(scenario, described=LOUD)


def test_the_edits_of_a_growing_message_ping_nobody_else_either() -> None:
    async def scenario(here: BotHarness) -> None:
        sent = await answered(here, f"one\n<@{user(here, ADMIN)}>\ntwo\nthree", asker=MEMBER)
        assert sent.mentions == []
        for record in here.stage.requests:
            allowed = record.body.get("allowed_mentions", {"parse": []})
            assert allowed["parse"] == []

    run_with_bot(scenario, described=LOUD, delivery="live")
