"""The buttons under an answer: again, continue, stop, delete, why, and turning between versions."""

from __future__ import annotations

from typing import Any

import pytest

from discord_stage.errors import StageError
from discord_stage.model_servers.scripts import Say, Stall
from discord_stage.world.records import Interaction, StageMessage
from oshaberi.bot.conversation.messages import PostedMessage
from tests.bot.client_harness import ADMIN, MEMBER, MODERATOR, OWNER
from tests.e2e.bot_harness import BotHarness, run_lives, run_with_bot
from tests.turns.turn_harness import spoil

ALWAYS: dict[str, Any] = {"answer_buttons": "always"}
SWIPES: dict[str, Any] = {"answer_buttons": "always", "answer_versions": 10}
HOLD = (Say("One.\nTwo. Thr"), Stall())


def labels(message: StageMessage) -> list[str]:
    return [one["label"] for row in message.components for one in row["components"]]


def last(here: BotHarness) -> StageMessage:
    return here.ours()[-1]


def press(here: BotHarness, label: str, *, user: str = MEMBER) -> Interaction:
    return here.stage.people.press(last(here), label, user=user)


async def has(here: BotHarness, *expected: str) -> None:
    """Wait until the last message, and only that one, has these buttons."""

    def is_so() -> bool:
        return bool(here.ours()) and labels(last(here)) == list(expected)

    try:
        await here.wait_for(is_so)
    except TimeoutError:
        assert [labels(one) for one in here.ours()] == [list(expected)]
    await here.idle()
    assert [labels(one) for one in here.ours()[:-1]] == [[] for _ in here.ours()[1:]]


def private_answer(here: BotHarness, asked: Interaction) -> StageMessage | None:
    """What only the one who pressed sees, if there is something."""
    there = here.stage.world.messages.get(asked.channel_id, {}).values()
    mine = (one for one in there if one.interaction_id == asked.id and one.ephemeral_to)
    return next(mine, None)


async def told(here: BotHarness, asked: Interaction) -> str:
    await here.wait_for(lambda: private_answer(here, asked))
    answer = private_answer(here, asked)
    assert answer is not None
    assert answer.ephemeral_to == asked.user_id
    return answer.content


ROW = ("Again", "Continue", "Delete", "Why", "…")


async def answered(here: BotHarness, words: str = "hi", *rows: str) -> None:
    here.ask(words)
    await has(here, *ROW, *rows)


def test_by_default_there_are_none() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hi")
        await here.says("One.", "Two.")
        assert [labels(one) for one in here.ours()] == [[], []]
        assert not here.stage.calls("PATCH /channels/*/messages/*")

    run_with_bot(scenario, "One.\nTwo.")


def test_they_stand_under_the_last_message_of_each_answer() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        await here.says("One.", "Two.")
        here.ask("and?")
        await here.wait_for(lambda: labels(last(here)) and last(here).content == "Three.")
        await here.idle()
        assert [labels(one) for one in here.ours()] == [[], list(ROW), list(ROW)]

    run_with_bot(scenario, "One.\nTwo.", "Three.", **ALWAYS)


def test_again_replaces_the_answer_and_says_nothing_about_it() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        press(here, "Again")
        await here.wait_for(lambda: here.said() == ["Two."])
        await has(here, *ROW)
        assert here.said() == ["Two."]
        assert len(here.model.requests) == 2

    run_with_bot(scenario, "One.", "Two.", **ALWAYS)


def test_only_the_right_people_may_press() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        for label in ("Again", "Continue", "Delete"):
            asked = press(here, label, user=ADMIN)
            assert "Only the person who asked" in await told(here, asked)
        assert here.said() == ["One."]
        press(here, "Delete", user=MODERATOR)
        await here.wait_for(lambda: not here.ours())
        assert len(here.model.requests) == 1

    run_with_bot(scenario, "One.", **ALWAYS)


def test_continue_moves_the_buttons() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        press(here, "Continue")
        await here.wait_for(lambda: here.said() == ["One.", "Two."])
        await has(here, *ROW)

    run_with_bot(scenario, "One.", "Two.", **ALWAYS)


def test_why_is_told_to_one() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        assert "mentioned" in await told(here, press(here, "Why", user=ADMIN))

    run_with_bot(scenario, "One.", **ALWAYS)


def test_two_presses_at_once_have_one_effect() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        first, second = press(here, "Again"), press(here, "Again")
        await has(here, *ROW)
        await here.wait_for(lambda: here.said() == ["Two."])
        told = [one for one in (first, second) if private_answer(here, one) is not None]
        assert len(told) == 1
        assert len(here.model.requests) == 2

    run_with_bot(scenario, "One.", "Two.", "Three.", **ALWAYS)


def test_stop_while_it_runs() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("count")
        await here.wait_for(lambda: here.ours() and labels(last(here)) == ["Stop"])
        assert "Only the person" in await told(here, press(here, "Stop", user=ADMIN))
        press(here, "Stop")
        await has(here, *ROW)
        assert here.said() == ["One.", "Two."]

    run_with_bot(scenario, HOLD, **ALWAYS)


def test_buttons_of_an_older_answer_say_that_it_is_not_the_newest() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        older = last(here)
        here.ask("and?")
        await here.wait_for(lambda: here.said() == ["One.", "Two."] and labels(last(here)))
        await here.idle()
        asked = here.stage.people.press(older, "Again", user=MEMBER)
        assert "Only my newest answer" in await told(here, asked)
        here.stage.people.press(older, "Delete", user=MEMBER)
        await here.says("Two.")

    run_with_bot(scenario, "One.", "Two.", **ALWAYS)


def test_pressed_during_another_turn() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        older = last(here)
        here.ask("count", user=OWNER)
        await here.wait_for(lambda: len(here.said()) == 2)
        for label in ("Again", "Continue"):
            asked = here.stage.people.press(older, label, user=MEMBER)
            assert "The bot is answering here" in await told(here, asked)
        await here.run("stop", user=OWNER)

    run_with_bot(scenario, "Hi.", HOLD, **ALWAYS)


def forged(here: BotHarness, custom_id: str, *, user: str, channel: str = "general") -> Interaction:
    """Press a button whose id somebody made up."""
    message = next(one for one in here.stage.world.history(channel) if one.components)
    message.components[0]["components"][0]["custom_id"] = custom_id
    return here.stage.people.press(message, custom_id, user=user)


def test_an_id_from_elsewhere_gives_no_rights() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        secret = last(here)
        here.ask("hi", channel="logs", user=ADMIN)
        await here.wait_for(lambda: here.ours("logs") and here.ours("logs")[-1].components)
        await here.idle()  # while its turn is being stored, a channel is busy
        for action in ("why", "menu", "edit", "delete", "show", "again", "continue"):
            for more in ("", ":1"):
                asked = forged(
                    here, f"oshaberi:answer:{action}:{secret.id}{more}", user=MEMBER, channel="logs"
                )
                assert "not part of an answer" in await told(here, asked), action
        for odd in ("oshaberi:answer:again:0", "oshaberi:answer:format:1", "oshaberi:answer:::"):
            forged(here, odd, user=MEMBER, channel="logs")
        await here.stage.settled()
        assert here.said() == ["One."]
        assert here.said("logs") == ["Two."]

    run_with_bot(scenario, "One.", "Two.", **ALWAYS)


def test_the_menu_is_for_one() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hi")
        await has(here, "…")
        asked = press(here, "…")
        assert "What would you like" in await told(here, asked)
        menu = private_answer(here, asked)
        assert menu is not None
        assert labels(menu) == ["Again", "Continue", "Delete", "Why"]
        here.stage.people.press(menu, "Again", user=MEMBER)
        await here.wait_for(lambda: here.said() == ["Two."])
        await here.wait_for(lambda: menu.content == "Answering again.")
        assert labels(menu) == []

    run_with_bot(scenario, "One.", "Two.", answer_buttons="menu")


def test_the_context_menu_opens_it_too() -> None:
    async def scenario(here: BotHarness) -> None:
        question = here.ask("hi")
        await here.says("One.")
        assert "What would you like" in await here.choose("More", last(here).id, user=MEMBER)
        assert "not part of an answer" in await here.choose("More", question, user=MEMBER)

    run_with_bot(scenario, "One.")


def test_versions_are_turned_in_place() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        press(here, "Again")
        await has(here, *ROW, "◀", "2/2", "▶")
        await here.says("Two.")
        number = last(here).id
        press(here, "◀")
        await has(here, *ROW, "◀", "1/2", "▶")
        await here.says("One.")
        assert last(here).id == number
        with pytest.raises(StageError, match="disabled"):
            press(here, "◀")
        press(here, "▶")
        await has(here, *ROW, "◀", "2/2", "▶")
        await here.says("Two.")
        assert len(here.model.requests) == 2
        here.ask("what did you say?")
        await here.wait_for(lambda: here.said() == ["Two.", "Three."])
        assert here.asked().of("assistant") == ["Two."]

    run_with_bot(scenario, "One.", "Two.", "Three.", **SWIPES)


def test_history_and_memory_follow_the_version() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        press(here, "Again")
        await has(here, *ROW, "◀", "2/2", "▶")
        press(here, "◀")
        await has(here, *ROW, "◀", "1/2", "▶")
        here.ask("what did you say?")
        await here.wait_for(lambda: here.said() == ["One.", "Three."])
        await here.idle()
        assert here.asked().of("assistant") == ["One."]
        exchanges = await here.db.memory.recent(here.id_of("general"), 10)
        assert [one.answered for one in exchanges] == ["One.", "Three."]

    run_with_bot(scenario, "One.", "Two.", "Three.", **SWIPES)


def test_more_messages_and_fewer() -> None:
    long = "\n".join(f"{name * 300}." for name in "abcdefg")
    many, one = [f"{name * 300}." for name in "abcdefg"], "Yes."

    async def scenario(here: BotHarness) -> None:
        await answered(here)
        assert here.said() == many
        press(here, "Again")
        await has(here, *ROW, "◀", "2/2", "▶")
        assert here.said() == [one]
        press(here, "◀")
        await has(here, *ROW, "◀", "1/2", "▶")
        assert "\n".join(here.said()).split("\n") == many
        assert all(len(text) <= 1950 for text in here.said())
        press(here, "▶")
        await has(here, *ROW, "◀", "2/2", "▶")
        assert here.said() == [one]
        exchanges = await here.db.memory.recent(here.id_of("general"), 10)
        assert [exchange.answered for exchange in exchanges] == [one]
        # Something else is said: there is no room for the long one any more.
        here.post("by the way", user=ADMIN)
        asked = press(here, "◀")
        assert "longer than the messages" in await told(here, asked)
        assert here.said() == [one]

    run_with_bot(scenario, long, one, **SWIPES)


def test_up_to_ten_versions_are_kept() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here, "hi")
        for number in range(1, 12):
            press(here, "Again")
            total = min(number + 1, 10)
            await here.says(f"Version {number}.")
            await has(here, *ROW, "◀", f"{total}/{total}", "▶")
        for number in range(9, 0, -1):
            press(here, "◀")
            await has(here, *ROW, "◀", f"{number}/10", "▶")
        assert here.said() == ["Version 2."]

    run_with_bot(scenario, *(f"Version {number}." for number in range(12)), **SWIPES)


def test_two_presses_at_once_turn_once() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        for at in (2, 3):
            press(here, "Again")
            await has(here, *ROW, "◀", f"{at}/{at}", "▶")
        press(here, "◀")
        press(here, "◀")
        await has(here, *ROW, "◀", "2/3", "▶")
        await here.stage.settled()
        await here.idle()
        assert here.said() == ["Two."]

    run_with_bot(scenario, "One.", "Two.", "Three.", **SWIPES)


def test_who_presses_very_often_keeps_nobody_waiting() -> None:
    """Each turning is several requests, and what comes later waits for them."""

    async def scenario(here: BotHarness) -> None:
        await answered(here)
        press(here, "Again")
        await has(here, *ROW, "◀", "2/2", "▶")
        people, shown = here.stage.people, last(here)
        before = len(here.stage.calls("PATCH /channels/*/messages/*"))
        row = shown.components[1]["components"]
        first, second = (str(row[0]["custom_id"]), str(row[0]["custom_id"])[:-1] + "2")
        pressed = []
        for number in range(40):
            row[0]["custom_id"] = (first, second)[number % 2]
            pressed.append(people.press(shown, row[0]["custom_id"], user=MEMBER))
        await here.wait_for(lambda: sum(map(bool, refused(here, pressed))) >= 30)
        here.ask("and now?")
        await here.wait_for(lambda: "Three." in here.said())
        await here.idle()
        assert len(here.stage.calls("PATCH /channels/*/messages/*")) - before < 20

    def refused(here: BotHarness, pressed: list[Interaction]) -> list[bool]:
        answers = (private_answer(here, one) for one in pressed)
        return [one is not None and "before" in one.content for one in answers]

    run_with_bot(scenario, "One.", "Two.", "Three.", **SWIPES)


def test_others_do_not_turn() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        press(here, "Again")
        await has(here, *ROW, "◀", "2/2", "▶")
        asked = press(here, "◀", user=ADMIN)
        assert "Only the person who asked" in await told(here, asked)
        press(here, "◀", user=MODERATOR)
        await has(here, *ROW, "◀", "1/2", "▶")

    run_with_bot(scenario, "One.", "Two.", **SWIPES)


def test_a_persona_with_a_webhook() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Mochi", triggers=("mochi",))
        here.post("mochi, a word?")
        await has(here, *ROW)
        assert last(here).username == "Mochi"
        press(here, "Again")
        await has(here, *ROW, "◀", "2/2", "▶")
        assert here.said() == ["Rice.", "Cake."]
        press(here, "◀")
        await has(here, *ROW, "◀", "1/2", "▶")
        assert here.said() == ["Mice."]
        press(here, "▶")
        await has(here, *ROW, "◀", "2/2", "▶")
        assert "\n".join(here.said()) == "Rice.\nCake."
        assert {one.username for one in here.ours()} == {"Mochi"}

    run_with_bot(scenario, "Mice.", "Rice.\nCake.", reply_mode="off", **SWIPES)


def test_continue_and_again_after_turning() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        press(here, "Again")
        await has(here, *ROW, "◀", "2/2", "▶")
        press(here, "◀")
        await has(here, *ROW, "◀", "1/2", "▶")
        press(here, "Continue")
        await here.wait_for(lambda: here.said() == ["One.", "And on."])
        await has(here, *ROW, "◀", "1/2", "▶")
        press(here, "▶")
        await has(here, *ROW, "◀", "2/2", "▶")
        assert here.said() == ["Two."]
        press(here, "◀")
        await has(here, *ROW, "◀", "1/2", "▶")
        assert "\n".join(here.said()) == "One.\nAnd on."
        press(here, "Again")
        await has(here, *ROW, "◀", "3/3", "▶")
        assert here.said() == ["New."]
        press(here, "Delete")
        await here.wait_for(lambda: not here.ours())
        await here.idle()

    run_with_bot(scenario, "One.", "Two.", "And on.", "New.", **SWIPES)


def test_without_the_setting_again_forgets() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        press(here, "Again")
        await here.wait_for(lambda: here.said() == ["Two."])
        await has(here, *ROW)

    run_with_bot(scenario, "One.", "Two.", **ALWAYS)


# Editing what the bot said.


async def edited(here: BotHarness, text: str, *, user: str = MEMBER, message: int = -1) -> str:
    asked = here.stage.people.choose("More", here.ours()[message], user=user)
    await told(here, asked)
    menu = private_answer(here, asked)
    assert menu is not None
    form = here.stage.people.press(menu, "Edit", user=user)
    await here.wait_for(lambda: form.modal or private_answer(here, form) is not None)
    if not form.modal:
        return await told(here, form)
    return await told(here, here.stage.people.submit(form, {"text": text}))


def test_nobody_edits_by_default() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        with pytest.raises(StageError, match="no button 'Edit'"):
            await edited(here, "Never said.", user=OWNER)
        asked = forged(here, f"oshaberi:answer:edit:{last(here).id}", user=OWNER)
        assert "cannot be edited" in await told(here, asked)

    run_with_bot(scenario, "One.", **ALWAYS)


def test_the_asker_edits_and_the_history_follows() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hi")
        await has(here, *ROW)
        assert "I have said this" in await edited(here, "Tea for <@1>, @everyone?", message=0)
        await here.says("Tea for <@1>, @everyone?", "Two.")
        with pytest.raises(StageError, match="no button 'Edit'"):
            await edited(here, "Never said.", user=ADMIN)
        here.ask("what?")
        await here.wait_for(lambda: here.said()[-1] == "Three.")
        await here.idle()
        assert here.asked().of("assistant") == ["Tea for <@1>, @everyone?\nTwo."]
        exchanges = await here.db.memory.recent(here.id_of("general"), 10)
        assert exchanges[0].answered == "Tea for <@1>, @everyone?\nTwo."
        assert here.ours()[0].notified == []

    run_with_bot(scenario, "One.\nTwo.", "Three.", answer_editing="asker", **ALWAYS)


def test_managers_alone_edit_if_so_chosen() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        with pytest.raises(StageError, match="no button 'Edit'"):
            await edited(here, "Never said.")
        assert "I have said this" in await edited(here, "Said.", user=MODERATOR)
        await here.says("Said.")

    run_with_bot(scenario, "One.", answer_editing="managers", **ALWAYS)


def test_an_edit_that_is_longer_than_a_message_becomes_several() -> None:
    code = "```py\n" + "\n".join(f"line_{number} = {number}" for number in range(200)) + "\n```"

    async def scenario(here: BotHarness) -> None:
        await answered(here)
        assert "I have said this" in await edited(here, code)
        await has(here, *ROW)
        assert len(here.said()) == 2
        assert all(text.count("```") == 2 and len(text) <= 1950 for text in here.said())
        lines = [one for text in here.said() for one in text.split("\n") if "=" in one]
        assert lines == [f"line_{number} = {number}" for number in range(200)]
        assert "visible character" in await edited(here, "\u200b")

    run_with_bot(scenario, "One.", answer_editing="asker", **ALWAYS)


# Restarts.


def test_buttons_and_versions_survive_a_restart() -> None:
    async def before(here: BotHarness) -> None:
        await answered(here)
        press(here, "Again")
        await has(here, *ROW, "◀", "2/2", "▶")

    async def after(here: BotHarness) -> None:
        press(here, "◀")
        await has(here, *ROW, "◀", "1/2", "▶")
        assert here.said() == ["One."]
        press(here, "Delete")
        await here.wait_for(lambda: not here.ours())

    run_lives([before, after], "One.", "Two.", **SWIPES)


def test_a_crash_between_two_versions_is_made_good() -> None:
    async def before(here: BotHarness) -> None:
        await answered(here)
        press(here, "Again")
        await has(here, *ROW, "◀", "2/2", "▶")
        turn = await here.db.turns.last(here.id_of("general"))
        turn_channel = await here.bot.client.find_turn_channel(here.id_of("general"))
        assert turn is not None
        assert turn_channel is not None
        rewrite = turn_channel.rewrite

        async def dies(message: PostedMessage, text: str) -> None:
            if here.said() != ["Three.", "Four."]:
                raise RuntimeError("the process dies here")
            await rewrite(message, text)

        spoil(turn_channel, "rewrite", dies)
        asker = await turn_channel.said(turn.asked_id or 0)
        assert asker is not None
        show = here.bot.channel_turns.show_version
        with pytest.raises(RuntimeError):
            await show(turn_channel, turn.message_ids[-1], 1, asker.author)
        assert here.said() == ["One.", "Four."]

    async def after(here: BotHarness) -> None:
        await here.wait_for(lambda: here.said() == ["One.", "Two."])
        await has(here, *ROW, "◀", "1/2", "▶")
        press(here, "▶")
        await has(here, *ROW, "◀", "2/2", "▶")
        assert here.said() == ["Three.", "Four."]

    run_lives([before, after], "One.\nTwo.", "Three.\nFour.", **SWIPES)


def test_a_button_that_a_crash_left_stops_nothing_else() -> None:
    async def scenario(here: BotHarness) -> None:
        await answered(here)
        stale = last(here)
        here.ask("count")
        await here.wait_for(lambda: "Two." not in here.said() and len(here.said()) == 2)
        custom_id = f"oshaberi:answer:stop:{stale.id}"
        stale.components[0]["components"][0]["custom_id"] = custom_id
        asked = here.stage.people.press(stale, custom_id, user=MEMBER)
        assert "nothing to stop" in await told(here, asked)
        assert here.bot.channel_turns.running() == 1
        await here.run("stop", user=MEMBER)

    run_with_bot(scenario, "Hi.", HOLD, **ALWAYS)
