"""Tools that ask first: a person of the right ones presses a button, in time, or nothing is run."""

from __future__ import annotations

import json
from typing import Any

import discord
import pytest

from discord_stage.model_servers.scripts import Call, Say
from discord_stage.world.records import Interaction, StageMessage
from oshaberi.bot.client.turn_channel import DiscordTurnChannel
from oshaberi.bot.recovery.crash_recovery import CrashRecovery
from oshaberi.bot.storage.records import JournalledPost, JournalledStream
from oshaberi.delivery.journal import LINES
from tests.bot.client_harness import ADMIN, MEMBER, MODERATOR, OWNER
from tests.e2e import asking_tools
from tests.e2e.bot_harness import BotHarness, BotScenario, run_lives, run_with_bot
from tests.e2e.test_answer_buttons import private_answer, told
from tests.e2e.test_tools import results

LABELS = ["Allow", "Refuse", "What exactly?"]
TOKEN = "sk-abcdefghijklmnopqrstuvwx"


def call(name: str, id_: str = "call_0", **args: object) -> Call:
    return Call(name, json.dumps(args), id_)


TEA = call("order_tea", kind="oolong")


def labels(message: StageMessage) -> list[str]:
    return [one["label"] for row in message.components for one in row["components"]]


def questions(here: BotHarness) -> list[StageMessage]:
    return [one for one in here.ours() if labels(one) == LABELS]


async def question(here: BotHarness) -> StageMessage:
    await here.wait_for(lambda: len(questions(here)) == 1)
    return questions(here)[0]


def press(here: BotHarness, asked: StageMessage, label: str, *, user: str = MEMBER) -> Interaction:
    return here.stage.people.press(asked, label, user=user)


def run(scenario: BotScenario, *answers: Any, speed: float = 1.0, **given: Any) -> None:
    asking_tools.USED.clear()
    options: dict[str, Any] = {"tools": "tests.e2e.asking_tools", **given}
    run_with_bot(scenario, *answers, speed=speed, **options)


def test_it_runs_when_the_asker_allows_it() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("tea, please")
        asked = await question(here)
        assert "May I use `order_tea`?" in asked.content
        assert "oolong" not in asked.content  # what it is about is for those who decide
        assert asking_tools.USED == []
        press(here, asked, "Allow")
        await here.says("It comes.")
        assert asking_tools.USED == ["tea oolong"]
        assert results(here) == ["Ordered: oolong."]

    run(scenario, [TEA], "It comes.")


def test_a_refusal_is_told_to_the_model_and_it_asks_no_more() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("tea, please")
        press(here, await question(here), "Refuse")
        await here.says("Then not.")
        refused = "not run: a person did not allow it; do not ask for it again in this answer"
        assert results(here) == [refused, refused]
        assert asking_tools.USED == []
        here.ask("and now?")
        press(here, await question(here), "Allow")
        await here.says("Then not.", "It comes.")
        assert asking_tools.USED == ["tea oolong"]

    run(scenario, [TEA], [TEA], "Then not.", [TEA], "It comes.")


def test_others_are_refused_and_those_who_manage_messages_may() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("tea, please", user=MEMBER)
        asked = await question(here)
        stranger = here.stage.people.join("sora").name
        for label in LABELS:
            refusal = press(here, asked, label, user=stranger)
            assert "Only the person who asked" in await told(here, refusal)
        assert asking_tools.USED == []
        assert questions(here) == [asked]
        press(here, asked, "Allow", user=MODERATOR)
        await here.says("It comes.")
        assert asking_tools.USED == ["tea oolong"]

    run(scenario, [TEA], "It comes.")


def test_a_tool_names_who_may_allow_it() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("close the shop", user=MEMBER)
        asked = await question(here)
        assert "Somebody with Manage Server decides" in asked.content
        for user in (MEMBER, MODERATOR):
            refusal = press(here, asked, "Allow", user=user)
            assert "Only members with Manage Server" in await told(here, refusal)
        assert asking_tools.USED == []
        press(here, asked, "Allow", user=ADMIN)
        await here.says("Good night.")
        assert asking_tools.USED == ["closed"]

    run(scenario, [call("close_shop")], "Good night.")


def test_one_question_for_all_calls_of_a_round_for_the_fewest_people() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("everything", user=MEMBER)
        asked = await question(here)
        assert "`order_tea` ×2, `close_shop`" in asked.content
        assert "Only members with Manage Server" in await told(here, press(here, asked, "Allow"))
        await here.wait_for(lambda: asking_tools.USED == ["looked"])  # what does not ask runs
        press(here, asked, "Allow", user=ADMIN)
        await here.says("Done.")
        assert sorted(asking_tools.USED) == ["closed", "looked", "tea green", "tea oolong"]
        assert results(here) == ["Ordered: oolong.", "Ordered: green.", "Closed.", "It rains."]

    calls = [
        call("order_tea", "a", kind="oolong"),
        call("order_tea", "b", kind="green"),
        call("close_shop", "c"),
        call("look_outside", "d"),
    ]
    run(scenario, calls, "Done.")


def test_what_exactly_is_told_to_those_who_decide_without_secrets() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("tea, please")
        asked = await question(here)
        shown = await told(here, press(here, asked, "What exactly?"))
        assert '"kind": "oolong' in shown
        assert TOKEN not in shown
        assert shown.count("```") == 2
        assert "@everyone" in shown
        press(here, asked, "Refuse")
        await here.says("No.")
        assert all(one.notified == [] for one in here.ours())

    tea = call("order_tea", kind="oolong ``` @everyone", note=f" {TOKEN} ")
    run(scenario, [tea], "No.")


def test_nothing_of_the_arguments_is_hidden_from_those_who_decide() -> None:
    """What comes after much else, what has no form, what turns the letters around it."""

    async def scenario(here: BotHarness) -> None:
        here.ask("tea, please")
        asked = await question(here)
        pressed = press(here, asked, "What exactly?")
        await here.wait_for(lambda: private_answer(here, pressed))
        answer = private_answer(here, pressed)
        assert answer is not None
        (file,) = answer.attachments
        shown = file.content.decode()
        assert "and poison" in shown
        assert "\u202e" not in shown
        assert "\\u202e" in shown
        press(here, asked, "Refuse")
        await here.says("No.", "Nor that.")
        assert asking_tools.USED == []

    hidden = call("order_tea", kind="oolong", note="x" * 5000 + "\u202e and poison")
    endless = call("order_tea", kind="oolong", note="x" * 60_000)
    run(scenario, [hidden], [Say("No.\n"), endless], "Nor that.")


def test_arguments_that_are_too_long_to_be_shown_are_refused_unasked() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("tea, please")
        await here.says("Too much.")
        assert "too long to be shown" in results(here)[0]
        assert asking_tools.USED == []

    run(scenario, [call("order_tea", kind="oolong", note="x" * 60_000)], "Too much.")


def test_a_press_from_another_channel_decides_nothing() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("close the shop")
        asked = await question(here)
        custom_id = asked.components[0]["components"][0]["custom_id"]
        view = discord.ui.View(timeout=None)
        view.add_item(discord.ui.Button(label="free tea", custom_id=custom_id))
        channel = here.bot.client.get_partial_messageable(here.id_of("logs"))
        await channel.send("-# a trap", view=view)
        await here.wait_for(lambda: here.ours("logs"))
        pressed = press(here, here.ours("logs")[0], "free tea", user=ADMIN)
        assert "is over" in await told(here, pressed)
        assert asking_tools.USED == []
        await here.run("stop", user=MEMBER)

    run(scenario, [call("close_shop")])


def test_a_model_that_insists_asks_once() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("tea, please")
        asked = await question(here)
        press(here, asked, "Refuse")
        await here.says("I give up.")
        assert len(here.model.requests) == 5
        posts = here.stage.calls("POST /channels/*/messages")
        assert len(posts) == 2  # the question and the answer

    run(scenario, *[[TEA, call("order_tea", "b", kind="green")]] * 4, "I give up.", **PATIENT)


PATIENT: dict[str, Any] = {"max_consecutive_tool_errors": 50}


def test_after_the_time_limit_it_is_not_run() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("tea, please")
        asked = await question(here)
        await here.wait_for(lambda: here.said() == ["Nobody answered."])
        await here.idle()
        assert questions(here) == []
        assert "nobody allowed it in time" in results(here)[0]
        assert asking_tools.USED == []
        assert asked not in here.ours()

    run(scenario, [TEA], "Nobody answered.", tool_question_ms=20_000, speed=50.0)


def test_a_stop_ends_the_wait() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("tea, please")
        asked = await question(here)
        assert await here.run("stop", user=MEMBER) == "Stopped."
        await here.idle()
        await here.wait_for(lambda: asked not in here.ours())
        assert here.said() == ["One moment."]
        assert asking_tools.USED == []
        assert len(here.model.requests) == 1
        here.ask("still there?")
        await here.says("One moment.", "Yes.")
        assert "May I" not in here.asked().text

    run(scenario, [Say("One moment."), TEA], "Yes.")


def test_a_press_after_the_wait_says_so_and_removes_the_question() -> None:
    """As after a restart: what waited for it is gone."""

    async def scenario(here: BotHarness) -> None:
        here.ask("hi")
        await here.says("Hello.")
        view = discord.ui.View(timeout=None)
        for action in ("allow", "show"):
            custom_id = f"oshaberi:tool:{action}:0123456789abcdef"
            view.add_item(discord.ui.Button(label=action, custom_id=custom_id))
        channel = here.bot.client.get_partial_messageable(here.id_of("general"))
        await channel.send("-# ⚙️ I ask before I go on", view=view)
        await here.wait_for(lambda: len(here.ours()) == 2)
        pressed = press(here, here.ours()[-1], "allow")
        assert "is over" in await told(here, pressed)
        await here.says("Hello.")

    run(scenario, "Hello.")


def test_after_a_restart_it_asks_anew() -> None:
    async def before(here: BotHarness) -> None:
        asking_tools.USED.clear()
        here.ask("tea, please")
        await question(here)

    async def after(here: BotHarness) -> None:
        asked = await question(here)
        assert here.ours() == [asked]  # the earlier one is gone
        press(here, asked, "Allow")
        await here.says("It comes.")
        assert asking_tools.USED == ["tea oolong"]

    run_lives([before, after], [TEA], [TEA], "It comes.", tools="tests.e2e.asking_tools")


def test_a_question_that_a_crash_left_is_deleted() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask("hi")
        await here.says("Hello.")
        place = await here.bot.client.find_turn_channel(here.id_of("general"))
        assert isinstance(place, DiscordTurnChannel)
        channel = here.bot.client.get_partial_messageable(here.id_of("general"))
        await channel.send("-# ⚙️ I ask before I go on\nMay I use `order_tea`?")
        words = "-# ⚙️ A model may begin like this, too."
        said = await channel.send(words)
        journal = here.db.journal
        stream = JournalledStream(
            "k1", "other", here.server_id, place.channel_id, 1, answering_id=asked
        )
        await journal.begin(stream)
        await journal.intend("k1", JournalledPost(f"k1{LINES}", 0, {}, asked, state="refused"))
        await journal.intend("k1", JournalledPost("k1-1", 1, {}, asked))
        await journal.mark_sent("k1", "k1-1", said.id)
        recovery = CrashRecovery(here.db, "other", here.bot.client.find_turn_channel)
        assert await recovery.run() == 1
        assert here.said()[:2] == ["Hello.", words]

    run(scenario, "Hello.")


def test_a_tool_of_the_settings_asks_too() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("how is the weather?", user=MEMBER)
        asked = await question(here)
        assert "Only members with Manage Messages" in await told(here, press(here, asked, "Allow"))
        press(here, asked, "Allow", user=MODERATOR)
        await here.says("It rains.")
        assert asking_tools.USED == ["looked"]

    settings: dict[str, Any] = {
        "asking_tools": ["look_outside"],
        "tool_approver": "manage_messages",
    }
    run(scenario, [call("look_outside")], "It rains.", **settings)


def test_in_a_direct_message_it_asks_there() -> None:
    async def scenario(here: BotHarness) -> None:
        place = f"@{MEMBER}"
        here.stage.people.dm("tea, please", user=MEMBER)
        await here.wait_for(lambda: any(labels(one) == LABELS for one in here.ours(place)))
        (asked,) = here.ours(place)
        press(here, asked, "Allow")
        await here.says("It comes.", channel=place)
        assert asking_tools.USED == ["tea oolong"]

    run(scenario, [TEA], "It comes.")


def test_the_answer_replies_only_if_somebody_else_spoke() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("tea, please")
        press(here, await question(here), "Allow")
        (said,) = await here.says("It comes.")
        assert said.reference is None
        here.ask("once more")
        asked = await question(here)
        here.post("by the way", user=ADMIN)
        press(here, asked, "Allow")
        said = (await here.says("It comes.", "Again."))[-1]
        assert said.reference is not None

    run(scenario, [TEA], "It comes.", [TEA], "Again.", reply_mode="auto")


@pytest.mark.parametrize("other", ["0123456789abcdef", "0123"])
def test_a_made_up_key_gives_nothing(other: str) -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("tea, please")
        asked = await question(here)
        button = asked.components[0]["components"][0]
        real, button["custom_id"] = button["custom_id"], f"oshaberi:tool:allow:{other}"
        pressed = here.stage.people.press(asked, button["custom_id"], user=OWNER)
        await here.stage.settled()
        assert asking_tools.USED == []
        assert len(other) < 16 or private_answer(here, pressed) is not None
        button["custom_id"] = real
        await here.run("stop", user=MEMBER)

    run(scenario, [TEA], "No.")
