"""Reactions to an answer: what they do, whose count, and what the model is told of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from discord_stage.model_servers.scripts import Say, Stall
from oshaberi.bot.client.answer_reactions import (
    MOST_AT_ONCE,
    WITHIN_SECONDS,
    RecentReactions,
    meaning_of,
    plain_emoji,
)
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.clocks import utc_now
from oshaberi.errors import ConfigError
from tests.bot.client_harness import ADMIN, MEMBER, MODERATOR, OWNER, world
from tests.e2e.bot_harness import BotHarness, run_lives, run_with_bot

ON: dict[str, Any] = {"reaction_actions": True}
HOLD = (Say("One.\nTwo. Thr"), Stall())


async def answered(here: BotHarness, *texts: str, **more: Any) -> int:
    here.ask("hi", **more)
    return (await here.says(*texts))[-1].id


async def verdicts(here: BotHarness) -> tuple[int, int]:
    return await here.db.reactions.verdicts(here.server_id, utc_now() - timedelta(days=1))


async def settled(here: BotHarness) -> None:
    await here.stage.settled()
    await here.idle()


def test_by_default_they_do_nothing() -> None:
    async def scenario(here: BotHarness) -> None:
        answer = await answered(here, "One.")
        for emoji in ("❌", "🔁", "▶️", "👍", "👎", "🎉"):
            here.stage.people.react(answer, emoji, user=MEMBER)
        await settled(here)
        assert here.said() == ["One."]
        assert len(here.model.requests) == 1
        assert await verdicts(here) == (0, 0)

    run_with_bot(scenario, "One.")


@pytest.mark.parametrize("user", [MEMBER, MODERATOR])
def test_a_cross_deletes_the_whole_answer(user: str) -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here, "One.", "Two.")
        here.stage.people.react(here.ours()[0], "❌", user=ADMIN)
        await settled(here)
        assert here.said() == ["One.", "Two."]
        here.stage.people.react(here.ours()[0], "❌", user=user)
        await here.wait_for(lambda: not here.ours())

    run_with_bot(scenario, "One.\nTwo.", **ON)


def test_again_and_on() -> None:
    async def scenario(here: BotHarness) -> None:
        answer = await answered(here, "One.")
        here.stage.people.react(answer, "🔁", user=MEMBER)
        await here.says("Two.")
        here.stage.people.react(here.ours()[0], "▶", user=MEMBER)
        await here.says("Two.", "Three.")
        for emoji in ("🔁", "▶"):
            here.stage.people.react(here.ours()[-1], emoji, user=ADMIN)
        await settled(here)
        assert len(here.model.requests) == 3

    run_with_bot(scenario, "One.", "Two.", "Three.", **ON)


def test_after_a_restart_and_of_messages_that_are_not_cached() -> None:
    async def before(here: BotHarness) -> None:
        await answered(here, "One.")

    async def after(here: BotHarness) -> None:
        here.stage.people.react(here.ours()[0], "🔁", user=MEMBER)
        await here.says("Two.")
        here.stage.people.react(here.ours()[0], "👍", user=ADMIN)
        await settled(here)
        assert await verdicts(here) == (1, 0)

    async def later(here: BotHarness) -> None:
        assert await verdicts(here) == (1, 0)
        here.stage.people.unreact(here.ours()[0], "👍", user=ADMIN)
        await settled(here)
        assert await verdicts(here) == (0, 0)

    run_lives([before, after, later], "One.", "Two.", **ON)


def test_a_webhooks_answer() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Mochi", triggers=("mochi",))
        here.post("mochi, a word?")
        await here.says("Mice.")
        here.stage.people.react(here.ours()[0], "❌", user=MEMBER)
        await here.wait_for(lambda: not here.ours())

    run_with_bot(scenario, "Mice.", reply_mode="off", **ON)


def test_of_two_reactions_at_once_one_counts() -> None:
    async def scenario(here: BotHarness) -> None:
        answer = await answered(here, "One.")
        here.stage.people.react(answer, "🔁", user=MEMBER)
        here.stage.people.react(answer, "🔁", user=MODERATOR)
        await here.says("Two.")
        assert len(here.model.requests) == 2

    run_with_bot(scenario, "One.", "Two.", "Three.", **ON)


def test_while_another_answer_is_written_nothing_is_begun() -> None:
    async def scenario(here: BotHarness) -> None:
        answer = await answered(here, "Hi.")
        here.ask("count", user=OWNER)
        await here.wait_for(lambda: len(here.said()) == 2)
        here.stage.people.react(answer, "🔁", user=MEMBER)
        here.stage.people.react(answer, "▶️", user=MEMBER)
        await here.stage.settled()
        await here.run("stop", user=OWNER)
        await here.idle()
        assert len(here.model.requests) == 2

    run_with_bot(scenario, "Hi.", HOLD, **ON)


def test_own_emoji_and_none() -> None:
    async def scenario(here: BotHarness) -> None:
        answer = await answered(here, "One.")
        here.stage.people.react(answer, "❌", user=MEMBER)
        here.stage.people.react(answer, "🔁", user=MEMBER)
        await settled(here)
        assert here.said() == ["One."]
        here.stage.people.react(answer, "wave", user=MEMBER)
        await here.wait_for(lambda: not here.ours())

    run_with_bot(scenario, "One.", "Two.", reaction_delete=":wave:", reaction_again="none", **ON)


@pytest.mark.parametrize(
    ("typed", "is_good"),
    [
        ("🗑️", True),
        ("👨‍👩‍👧", True),
        ("1️⃣", True),
        ("‼️", True),
        ("🇯🇵", True),
        (":wave:", True),
        ("none", True),
        ("trash", False),
        ("🗑 please", False),
        ("日本", False),
        ("x" * 101, False),
        ("🗑" * 30, False),
    ],
)
def test_the_settings_are_emoji(typed: str, is_good: bool) -> None:
    if is_good:
        assert TurnConfig(reaction_delete=typed).reaction_delete == typed
    else:
        with pytest.raises(ConfigError, match="is not an emoji"):
            TurnConfig(reaction_delete=typed)


def test_an_admin_is_told_what_is_no_emoji() -> None:
    async def scenario(here: BotHarness) -> None:
        for value, told in (("trash", "is not an emoji"), ("🗑️", "is now")):
            set_ = {"key": "reaction_delete", "value": value}
            assert told in await here.run("config set", set_, user=ADMIN)

    run_with_bot(scenario)


def test_a_flood_of_one_person_is_bounded() -> None:
    async def scenario(here: BotHarness) -> None:
        answer = await answered(here, "One.")
        for _ in range(10):
            here.stage.people.react(answer, "👍", user=ADMIN)
            here.stage.people.unreact(answer, "👍", user=ADMIN)
        here.stage.people.react(answer, "👎", user=MEMBER)
        await settled(here)
        good, bad = await verdicts(here)
        assert (good <= 1, bad) == (True, 1)
        told = await here.run("usage", {"whose": "server"})
        assert f"**Rated as good:** {good}; **as bad:** 1" in told
        here.stage.people.react(answer, "❌", user=MEMBER)
        await here.wait_for(lambda: not here.ours())

    run_with_bot(scenario, "One.", **ON)


def test_people_who_may_not_ask_do_not_count() -> None:
    async def scenario(here: BotHarness) -> None:
        answer = await answered(here, "One.")
        member = here.stage.world.user(ADMIN)
        await here.run("config set", {"key": "blocked_users", "value": f"<@{member.id}>"})
        here.stage.people.react(answer, "👍", user=ADMIN)
        await here.db.opt_outs.add(here.stage.world.user(MODERATOR).id)
        here.stage.people.react(answer, "👎", user=MODERATOR)
        here.stage.people.react(answer, "❌", user=MODERATOR)
        await settled(here)
        assert await verdicts(here) == (0, 0)
        assert here.said() == ["One."]

    run_with_bot(scenario, "One.", **ON)


def test_questions_and_other_bots_are_left_alone() -> None:
    async def scenario(here: BotHarness) -> None:
        question = here.ask("hi")
        await here.says("One.")
        here.stage.people.react(question, "❌", user=MEMBER)
        here.stage.people.react(here.ours()[0], "❌", user="helper")
        here.stage.people.react(here.ours()[0], "🎉", user="helper")
        await settled(here)
        assert here.said() == ["One."]
        assert await here.db.reactions.to([here.ours()[0].id], 9) == ()

    run_with_bot(scenario, "One.", described=with_bot(), reactions_in_context=True, **ON)


def with_bot() -> dict[str, object]:
    described = world()
    guilds: Any = described["guilds"]
    guilds[0]["members"].append({"name": "helper", "bot": True})
    return described


def test_the_model_is_told_of_others() -> None:
    async def scenario(here: BotHarness) -> None:
        answer = await answered(here, "One.")
        here.stage.people.react(answer, "🎉", user=MEMBER)
        here.stage.people.react(answer, "wave", user=ADMIN)
        here.stage.people.react(answer, "👍", user=ADMIN)
        await settled(here)
        here.ask("well?")
        await here.says("One.", "Two.")
        told = [one for one in here.asked().of("user") if "Reactions" in one]
        assert len(told) == 1
        assert "🎉 by Renny" in told[0]
        assert "👍" not in told[0]
        assert await verdicts(here) == (1, 0)

    run_with_bot(scenario, "One.", "Two.", reactions_in_context=True, **ON)


@pytest.mark.parametrize("emoji", ["🎉", None])
def test_reactions_that_a_moderator_clears_are_forgotten(emoji: str | None) -> None:
    async def scenario(here: BotHarness) -> None:
        answer = await answered(here, "One.")
        here.stage.people.react(answer, "🎉", user=MEMBER)
        here.stage.people.react(answer, "👎", user=MEMBER)
        await settled(here)
        assert await verdicts(here) == (0, 1)
        channel = here.bot.client.get_partial_messageable(here.id_of("general"))
        message = channel.get_partial_message(here.ours()[0].id)
        await (message.clear_reactions() if emoji is None else message.clear_reaction(emoji))
        await settled(here)
        assert await here.db.reactions.to([here.ours()[0].id], 9) == ()
        assert await verdicts(here) == ((0, 0) if emoji is None else (0, 1))

    allowed = ["view_channel", "send_messages", "read_message_history", "manage_messages"]
    described = world() | {"bot": {"name": "Oshaberi", "permissions": allowed}}
    run_with_bot(scenario, "One.", described=described, reactions_in_context=True, **ON)


def test_what_an_emoji_means() -> None:
    config = TurnConfig(reaction_actions=True)
    named = {"❌": "delete", "🔁": "again", "▶": "continue", "▶️": "continue", "👍🏽": "good"}
    assert {emoji: meaning_of(emoji, config) for emoji in named} == named
    assert meaning_of("🎉", config) is None
    assert meaning_of("🎉", TurnConfig(reactions_in_context=True)) == "other"
    assert meaning_of("❌", TurnConfig()) is None
    assert plain_emoji("<:wave:123>") == plain_emoji("<a:wave:9>") == plain_emoji(":wave:")


def test_the_limit_lets_go_after_a_while() -> None:
    recent = RecentReactions()
    assert all(recent.allows(1, 0.0) for _ in range(MOST_AT_ONCE))
    assert not recent.allows(1, WITHIN_SECONDS - 1)
    assert recent.allows(2, 1.0)
    assert recent.allows(1, WITHIN_SECONDS)
