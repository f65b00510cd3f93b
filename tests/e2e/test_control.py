"""Taking a turn in hand: stop, follow up, continue, try again, delete, ask why."""

from __future__ import annotations

from discord_stage import SEND
from discord_stage.model_servers.scripts import Call, Say, Stall
from tests.bot.client_harness import MEMBER, OWNER
from tests.e2e import bad_tools
from tests.e2e.bot_harness import BotHarness, run_with_bot

HOLD = (Say("One.\nTwo. Thr"), Stall())
"""Two lines, the second of which never ends. A stop sends `Two.`, and not the half sentence."""
SLOW = {
    "humanizer_degree": 2,
    "base_type_speed_ms_per_char": 200,
    "max_typing_time_ms": 30_000,
    "min_visible_typing_duration_ms": 10_000,
}


def sends(here: BotHarness) -> int:
    return len(here.stage.calls(SEND))


def test_after_a_stop_nothing_is_sent() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("count")
        await here.wait_for(lambda: here.said() == ["One."])
        assert await here.run("stop", user=MEMBER) == "Stopped."
        await here.says("One.", "Two.")
        count = sends(here)
        await here.stage.settled()
        assert (sends(here), count) == (2, 2)
        await here.model.idle()

    run_with_bot(scenario, HOLD)


def test_a_stop_while_the_bot_types() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("count")
        await here.wait_for(lambda: here.said() == ["One."])
        await here.model.idle()
        await here.wait_for(lambda: here.stage.calls("POST /channels/*/typing"))
        assert await here.run("stop", user=MEMBER) == "Stopped."
        await here.idle()
        count = len(here.stage.requests)
        await here.stage.settled()
        assert here.said() == ["One."]
        assert len(here.stage.requests) == count
        assert await here.run("continue", user=MEMBER) == "Continuing."
        await here.wait_for(lambda: here.said()[:2] == ["One.", "Two."])
        assert len(here.model.requests) == 1
        await here.run("stop", user=MEMBER)

    run_with_bot(scenario, "One.\nTwo.\nThree.", **SLOW)


def test_continue_after_undelivered_text_sends_just_that() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("count")
        await here.wait_for(lambda: here.said() == ["One."])
        await here.model.idle()
        await here.run("stop", user=MEMBER)
        await here.idle()
        await here.run("config set", {"key": "humanizer_degree", "value": "1"})
        assert await here.run("continue", user=MEMBER) == "Continuing."
        await here.says("One.", "Two.", "Three.")
        assert len(here.model.requests) == 1
        assert await here.run("continue", user=MEMBER) == "Continuing."
        await here.says("One.", "Two.", "Three.", "Four.")
        assert here.asked().of("assistant") == ["One.\nTwo.\nThree."]
        assert "Go on exactly where your last message stopped" in here.asked().last

    run_with_bot(scenario, "One.\nTwo.\nThree.", "Four.", **SLOW)


def test_continue_after_a_stop_asks_the_model_to_go_on() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("count")
        await here.wait_for(lambda: here.said() == ["One."])
        await here.run("stop", user=MEMBER)
        await here.says("One.", "Two.")
        assert "Manage Messages" in await here.run("continue", user="kei")
        assert await here.run("continue", user=MEMBER) == "Continuing."
        await here.says("One.", "Two.", "Three.")
        assert here.asked().of("assistant") == ["One.\nTwo."]

    run_with_bot(scenario, HOLD, "Three.")


def test_continue_after_a_stop_does_not_send_half_a_sentence() -> None:
    """What waited is sent as it is; the half sentence behind it is the model's to write again."""

    async def scenario(here: BotHarness) -> None:
        here.ask("count")
        await here.wait_for(lambda: here.said() == ["One."])
        await here.run("stop", user=MEMBER)
        await here.idle()
        await here.run("config set", {"key": "humanizer_degree", "value": "1"})
        assert await here.run("continue", user=MEMBER) == "Continuing."
        await here.says("One.", "Two.")
        await here.idle()
        assert len(here.model.requests) == 1
        assert await here.run("continue", user=MEMBER) == "Continuing."
        await here.says("One.", "Two.", "Three.")
        assert here.asked().of("assistant") == ["One.\nTwo."]

    run_with_bot(scenario, (Say("One.\nTwo.\nThr"), Stall()), "Three.", **SLOW)


def test_a_follow_up_interrupts() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("count")
        await here.wait_for(lambda: here.said() == ["One."])
        here.ask("backwards!")
        await here.says("One.", "Three.")
        assert len(here.model.requests) == 2
        asked = here.asked()
        assert asked.of("assistant") == ["One."]
        assert asked.last.endswith("Renny: @Oshaberi backwards!")

    run_with_bot(scenario, HOLD, "Three.")


def test_somebody_else_does_not_interrupt() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("count")
        await here.wait_for(lambda: here.said() == ["One."])
        here.ask("and me?", user=OWNER)
        await here.wait_for(lambda: here.bot.channel_turns.waiting() == 1)
        assert "1 answer under way, 1 message waiting" in await here.run("status")
        assert await here.run("stop", user=MEMBER) == "Stopped."
        await here.says("One.", "Two.", "You too.")
        assert here.asked().question == "mika: @Oshaberi and me?"

    run_with_bot(scenario, HOLD, "You too.")


def test_what_waits_is_answered_as_it_is_when_its_turn_comes() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("count")
        await here.wait_for(lambda: here.said() == ["One."])
        gone, kept = (here.ask(words, user=OWNER) for words in ("forget it", "and mee?"))
        await here.wait_for(lambda: here.bot.channel_turns.waiting() == 2)
        here.stage.people.delete(gone)
        here.stage.people.edit(kept, f"<@{here.stage.world.bot.id}> and me?")
        await here.wait_for(lambda: here.bot.channel_turns.waiting() == 1)
        await here.stage.settled()
        assert await here.run("stop", user=MEMBER) == "Stopped."
        await here.says("One.", "Two.", "You too.")
        assert here.asked().question == "mika: @Oshaberi and me?"

    run_with_bot(scenario, HOLD, "You too.", "Never.")


def test_a_follow_up_that_waits() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("count")
        await here.wait_for(lambda: here.said() == ["One."])
        here.ask("backwards")
        here.ask("and loud")
        await here.wait_for(lambda: here.bot.channel_turns.waiting() == 2)
        full = here.ask("and more")
        await here.wait_for(lambda: here.reactions(full) == ["🈵"])
        await here.run("stop", user=MEMBER)
        await here.says("One.", "Two.", "owt eno", "ONE")
        assert [here.asked(n).question for n in (1, 2)] == [
            "Renny: @Oshaberi backwards",
            "Renny: @Oshaberi and loud",
        ]

    run_with_bot(scenario, HOLD, "owt eno", "ONE", follow_up_policy="queue", waiting_limit=2)


def test_follow_ups_that_are_collected() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("count")
        await here.wait_for(lambda: here.said() == ["One."])
        here.ask("backwards")
        here.ask("to me", user=OWNER)
        here.ask("and loud")
        await here.wait_for(lambda: here.bot.channel_turns.waiting() == 3)
        await here.run("stop", user=MEMBER)
        await here.says("One.", "Two.", "OWT ENO", "Hi.")
        assert here.asked(1).question == "Renny: @Oshaberi backwards @Oshaberi and loud"
        assert here.asked(2).question == "mika: @Oshaberi to me"

    run_with_bot(scenario, HOLD, "OWT ENO", "Hi.", follow_up_policy="collect")


def test_regenerate_takes_the_answer_back_without_a_trace() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Mochi", triggers=("mochi",))
        here.post("mochi, a word?")
        await here.wait_for(lambda: "Rats." in here.said())
        await here.idle()
        assert await here.run("regenerate", user=MEMBER) == "Answering again."
        await here.wait_for(lambda: "Mice." in here.said())
        await here.idle()
        notices = [text for text in here.said() if text.startswith("-# ↩")]
        assert here.said() == [*notices, "Mice."]
        assert len(notices) == 1
        assert "Rats." not in here.asked().text

    run_with_bot(scenario, "Rats.", "Mice.")


def test_a_deleted_turn_is_gone_from_the_channel_and_from_memory() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Mochi", triggers=("mochi",))
        here.post("mochi, a word?")
        await here.wait_for(lambda: "Rats." in here.said())
        await here.idle()
        message = here.ours()[-1].id
        assert "Manage Messages" in await here.choose("Delete this turn", message, user="kei")
        assert "is deleted" in await here.choose("Delete this turn", message, user=MEMBER)
        assert here.said() == []
        here.stage.people.delete(here.stage.world.history("general")[0])
        here.ask("what did she say?")
        await here.says("Nothing.")
        assert "Rats." not in here.asked().text
        assert "secret" not in here.asked().text

    run_with_bot(scenario, "Rats.<details>secret</details>", "Nothing.")


def test_an_answer_and_its_continuation_are_one() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("a tale")
        (once,) = await here.says("Once")
        await here.choose("Continue from here", once.id, user=MEMBER)
        await here.says("Once", "upon a time.")
        await here.choose("Regenerate", once.id, user=MEMBER)
        (anew,) = await here.says("Anew")
        await here.choose("Continue from here", anew.id, user=MEMBER)
        await here.says("Anew", "and again.")
        assert "is deleted" in await here.choose("Delete this turn", anew.id, user=MEMBER)
        assert here.said() == []
        here.ask("what was it?")
        await here.says("Nothing.")
        assert not [word for word in ("Once", "Anew", "again") if word in here.asked().text]

    run_with_bot(scenario, "Once", "upon a time.", "Anew", "and again.", "Nothing.")


def test_a_turn_under_way_is_not_deleted_or_told_anew() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("count")
        await here.wait_for(lambda: here.said() == ["One."])
        message = here.ours()[0].id
        busy = "The bot is answering here."
        assert (await here.choose("Delete this turn", message, user=MEMBER)).startswith(busy)
        assert (await here.run("regenerate", user=MEMBER)).startswith(busy)
        assert (await here.run("continue", user=MEMBER)).startswith(busy)

    run_with_bot(scenario, HOLD)


def test_in_a_direct_message_everything_can_be_taken_in_hand() -> None:
    async def scenario(here: BotHarness) -> None:
        place = f"@{MEMBER}"
        here.stage.people.dm("count", user=MEMBER)
        await here.wait_for(lambda: here.said(place) == ["One."])
        assert await here.run("stop", user=MEMBER, channel=place) == "Stopped."
        await here.says("One.", "Two.", channel=place)
        assert await here.run("continue", user=MEMBER, channel=place) == "Continuing."
        await here.says("One.", "Two.", "Three.", channel=place)
        assert await here.run("regenerate", user=MEMBER, channel=place) == "Answering again."
        (four,) = await here.says("Four.", channel=place)
        assert "is deleted" in await here.choose("Delete this turn", four.id, user=MEMBER)
        await here.says(channel=place)

    run_with_bot(scenario, HOLD, "Three.", "Four.")


def test_a_follow_up_ends_a_tool() -> None:
    async def scenario(here: BotHarness) -> None:
        bad_tools.STARTED.clear()
        here.ask("wait for it")
        await here.wait_for(lambda: bad_tools.STARTED == ["wait_forever"])
        here.ask("never mind")
        await here.says("All right.")
        assert here.asked().last.endswith("never mind")
        assert here.asked().of("tool") == []

    run_with_bot(scenario, Call("wait_forever"), "All right.", tools="tests.e2e.bad_tools")


def test_why_this_turn() -> None:
    async def scenario(here: BotHarness) -> None:
        quiet = here.post("nobody is asked")
        asked = here.ask("hello")
        (hi,) = await here.says("Hi.")
        assert "was mentioned" in await here.choose("Why this turn", hi.id)
        assert "was mentioned" in await here.choose("Why this turn", asked)
        assert "nobody was addressed" in await here.choose("Why this turn", quiet)

    run_with_bot(scenario, "Hi.")
