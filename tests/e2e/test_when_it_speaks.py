"""When the bot speaks and when it does not, among people: bursts, threads, direct messages, others.

After every play *Why this turn* is asked about each message, answered or not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Call, Say, Stall
from discord_stage.rules.messages import MessageDraft
from discord_stage.scaled_loop import scale_of
from discord_stage.testing import staged
from discord_stage.world_changes import message_posting
from oshaberi.bot.conversation.turn_config import PROXY_BOTS
from tests.bot.client_harness import MEMBER, OWNER, world
from tests.e2e.bot_harness import (
    FAST,
    MENTION,
    PATIENCE_S,
    PERSONA,
    QUICK,
    BotHarness,
    links,
    run_with_bot,
    serving,
    settings_of,
    whys,
)

PATIENT = {"burst_wait_ms": 10_000, "burst_max_ms": 60_000}
"""Nothing here waits that long: a question mark ends the burst, however slow the machine is."""
LISTENING = {"attention_ms": 3_600_000, "attention_chance": 0.8}
BURST = "it belongs to the question that its author had begun (burst_wait_ms)"
OTHERS = "it mentions or replies to somebody else"
UNADDRESSED = "nobody was addressed: no mention, reply, name or trigger word"
ROBOT = 5001
UNDECIDED = (None, "Because the bot is deciding about it at this moment.")


def drawing(here: BotHarness, *drawn: float) -> None:
    numbers: Iterator[float] = iter(drawn)
    here.bot.channel_turns.admission.draw = lambda: next(numbers)


async def gathering(here: BotHarness, channel_id: int, count: int = 1) -> None:
    """Until the bot has heard so many messages of a question that is not answered yet."""

    def heard() -> bool:
        job = here.bot.channel_turns.current(channel_id)
        return job is not None and len(job.asked) == count

    await here.wait_for(heard)


async def decided(here: BotHarness, message_id: int) -> None:
    """Until the bot knows whether it answers."""
    async with asyncio.timeout(PATIENCE_S * scale_of(asyncio.get_running_loop())):
        while await here.bot.channel_turns.why(message_id) in UNDECIDED:
            await asyncio.sleep(0.01)


async def seen_typing(here: BotHarness, channel_id: int) -> None:
    def seen() -> bool:
        job = here.bot.channel_turns.current(channel_id)
        now_s = asyncio.get_running_loop().time()
        return job is not None and job.burst is not None and job.burst._typing_s > now_s

    await here.wait_for(seen)


def test_a_person_who_writes_in_bursts() -> None:
    async def scenario(here: BotHarness) -> None:
        place = here.id_of("general")
        first = here.ask("hey")
        await gathering(here, place)
        here.stage.people.type("general", user=MEMBER)
        await seen_typing(here, place)
        second = here.post("I have a question")
        await gathering(here, place, 2)
        aside = here.post("good luck", user=OWNER)
        job = here.bot.channel_turns.current(place)
        assert job is not None
        assert job.burst is not None
        last = here.ask("how tall is Fuji?")
        (answer,) = await here.says("3776 metres.")
        assert job.burst._latest_s == 0.0, "the question mark ended it, not the time"
        assert answer.reference is not None
        assert int(answer.reference["message_id"]) == last
        asked = here.asked().last
        assert asked.endswith(
            "Renny: @Oshaberi hey\nRenny: I have a question\nmika: good luck\n"
            "Renny: @Oshaberi how tall is Fuji?"
        )
        await whys(
            here,
            (first, MENTION),
            (second, BURST),
            (aside, UNADDRESSED),
            (last, MENTION),
            (answer.id, MENTION),
        )

    run_with_bot(scenario, "3776 metres.", **PATIENT)


def test_a_direct_message_in_a_burst() -> None:
    async def scenario(here: BotHarness) -> None:
        people = here.stage.people
        first = people.dm("psst", user=MEMBER)
        place = first.channel_id
        await gathering(here, place)
        people.type(place, user=MEMBER)
        await seen_typing(here, place)
        second = people.dm("are you there", user=MEMBER)
        await gathering(here, place, 2)
        job = here.bot.channel_turns.current(place)
        assert job is not None
        assert job.burst is not None
        job.burst.end()
        await here.asked_times(1)
        await here.idle()
        assert here.asked().last.endswith("Ren: psst\nRen: are you there")
        answer = here.stage.world.history(place)[-1]
        assert answer.content == "Always."
        told = [
            await here.choose("Why this turn", one.id, user=MEMBER)
            for one in (first, second, answer)
        ]
        assert told == ["Because it is a direct message."] * 3

    run_with_bot(scenario, "Always.", **PATIENT)


def test_a_restart_in_the_middle_of_a_burst(tmp_path: Path) -> None:
    async def main() -> None:
        model = ModelServer(OpenAIWire(), (Say("3776 metres."),))
        async with model as server, staged(world(), FAST) as stage:
            given = {**QUICK, **PATIENT, "persona": PERSONA, "models": links([server])}
            settings = settings_of(tmp_path, {}, **given)
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                here.ask("how tall is Fuji")
                await gathering(here, here.id_of("general"))
                here.post("in metres")
                await gathering(here, here.id_of("general"), 2)
            assert server.requests == []
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                await here.says("3776 metres.")
                asked = here.asked().text
                assert "Renny: @Oshaberi how tall is Fuji\nRenny: in metres" in asked

    asyncio.run(main())


def test_two_people_who_talk_past_the_bot() -> None:
    async def scenario(here: BotHarness) -> None:
        drawing(here, 0.9, 0.01, 0.3)
        mika, ren = here.stage.world.user(OWNER).id, here.stage.world.user(MEMBER).id
        asked = here.ask("hello", user=OWNER)
        await here.says("Hi.")
        reply = here.post("hey you", reply_to=asked)
        mention = here.post(f"<@{ren}> yes?", user=OWNER)
        role = here.post(f"<@&{here.stage.world.role('mods').id}> look", user=OWNER)
        aside = here.post("nothing")
        on = here.post("and you", user=OWNER)
        await here.says("Hi.", "Fine.")
        overheard = here.post("me too")
        await here.says("Hi.", "Fine.", "Nice.")
        fine, nice = here.ours()[1:]
        assert mika != ren
        ago = "the bot and its author had been talking N s ago: chance 0.05, drew 0.01"
        await whys(
            here,
            (asked, MENTION),
            (reply, OTHERS),
            (mention, OTHERS),
            (role, OTHERS),
            (
                aside,
                "nobody was addressed; the bot had been talking here N s ago: "
                "chance 0.05, drew 0.9",
            ),
            (on, ago),
            (fine.id, ago),
            (overheard, "the bot had been talking here N s ago: chance 0.4, drew 0.3"),
            (nice.id, "the bot had been talking here N s ago: chance 0.4, drew 0.3"),
        )

    run_with_bot(scenario, "Hi.", "Fine.", "Nice.", **LISTENING)


def test_a_thread_has_a_talk_of_its_own() -> None:
    described = world({"name": "general", "threads": ["side"]}, "logs")

    async def scenario(here: BotHarness) -> None:
        drawing(here, 0.2)
        asked = here.ask("hello", channel="side")
        await here.says("Hi.", channel="side")
        elsewhere = here.post("and here")
        on = here.post("and you", channel="side")
        hi, fine = await here.says("Hi.", "Fine.", channel="side")
        assert here.said() == []
        ago = "the bot and its author had been talking N s ago: chance 0.8, drew 0.2"
        await whys(
            here,
            (asked, MENTION),
            (hi.id, MENTION),
            (elsewhere, UNADDRESSED),
            (on, ago),
            (fine.id, ago),
        )

    run_with_bot(scenario, "Hi.", "Fine.", described=described, **LISTENING)


def test_unasked_words_may_be_no_words() -> None:
    async def scenario(here: BotHarness) -> None:
        drawing(here, 0.01, 0.02, 0.5)
        said, silent, passed = here.post("nice day"), 0, 0
        (answer,) = await here.says("It is.")
        typing = len(here.stage.calls("POST /channels/*/typing"))
        silent = here.post("is it", user=OWNER)
        await here.asked_times(2)
        await here.idle()
        assert len(here.stage.calls("POST /channels/*/typing")) == typing, (
            "nobody sees that it read"
        )
        passed = here.post("hm", user=OWNER)
        await here.stage.settled()
        assert here.said() == ["It is."]
        chance = "(interjection_chance): chance 0.1, drew"
        await whys(
            here,
            (said, f"the bot may speak unasked {chance} 0.01"),
            (answer.id, f"the bot may speak unasked {chance} 0.01"),
            (
                silent,
                "the model read it and chose to say nothing (silence_markers, `stay_silent`)",
            ),
            (
                passed,
                f"nobody was addressed, and the bot did not speak unasked {chance} 0.5",
            ),
        )

    run_with_bot(scenario, "It is.", "NO_REPLY", interjection_chance=0.1)


SILENT = "the model read it and chose to say nothing (silence_markers, `stay_silent`)"


def test_silence_is_an_answer_also_to_a_question() -> None:
    async def scenario(here: BotHarness) -> None:
        liked = here.ask("good night")
        await here.asked_times(1)
        await here.wait_for(lambda: here.reactions(liked) == ["🌙"])
        await here.idle()
        marked = here.ask("I am not talking to you")
        await here.asked_times(2)
        await here.idle()
        everywhere = {"key": "auto_channels", "value": f"<#{here.id_of('logs')}>"}
        await here.run("config set", everywhere)
        elsewhere = here.post("hm", channel="logs")
        await here.asked_times(3)
        await here.idle()
        said = here.post("hello?", channel="logs")
        (hi,) = await here.says("Hi.", channel="logs")
        assert here.said() == []
        every = "every message of this channel is answered (auto_channels)"
        await whys(here, (liked, SILENT), (marked, SILENT), (elsewhere, SILENT))
        await whys(here, (said, every), (hi.id, every))

    react = Call("react", '{"emoji": "🌙"}')
    run_with_bot(scenario, (react, Call("stay_silent")), "NO_REPLY", "NO_REPLY", "Hi.")


def test_a_model_may_say_why_it_stays_silent() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask("I am not talking to you")
        await here.asked_times(1)
        await here.idle()
        done = here.ask("then write it down")
        (answer,) = await here.says("Sure, done.")
        noted = "It noted: “mika is asked”"
        silent = f"the model read it and chose to say nothing (silence_markers). {noted}"
        await whys(here, (asked, silent), (done, MENTION), (answer.id, MENTION))

    pieces = [Say(piece) for piece in ("NO_RE", "PLY\n", "(mika is", " asked)")]
    run_with_bot(scenario, pieces, "Sure, done.\nNO_REPLY (nothing to add)")


def test_somebody_who_asks_about_the_marker_is_told_of_it() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.ask(r"what does No\_Reply mean?")
        (answer,) = await here.says("NO_REPLY: I write it to be silent.")
        again = here.ask("then show me a NO_REPLY")
        await here.asked_times(2)
        await here.idle()
        await whys(here, (asked, MENTION), (answer.id, MENTION), (again, SILENT))

    run_with_bot(scenario, "NO_REPLY: I write it to be silent.", "NO_REPLY")


def test_reply_modes() -> None:
    async def scenario(here: BotHarness) -> None:
        asked: list[int] = []
        asides: list[int] = []
        for mode in ("off", "first", "all", "auto"):
            await here.run("config set", {"key": "reply_mode", "value": mode})
            asked.append(here.ask(f"{mode}?"))
            asides.append(here.post("and what about me", user=OWNER))
            await here.wait_for(lambda: len(here.ours()) == 2 * len(asked))
            await here.idle()
        asked.append(here.ask("and now?"))
        await here.wait_for(lambda: len(here.ours()) == 10)
        await here.idle()
        to = [one.reference and int(one.reference["message_id"]) for one in here.ours()]
        _off, first, all_, auto, _alone = asked
        assert to == [None, None, first, None, all_, all_, auto, None, None, None]
        answers = (one.id for one in here.ours())
        await whys(here, *((one, MENTION) for one in (*asked, *answers)))
        await whys(here, *((one, UNADDRESSED) for one in asides))

    run_with_bot(scenario, *["One.\nTwo."] * 5)


def test_a_webhook_has_a_notice_instead_of_a_reply() -> None:
    """Once for an answer, where its first message would reply; `auto`: only after others."""

    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Vex", triggers=("vex",))
        asked: list[int] = []
        counts: list[int] = []
        for mode, between in (
            ("off", True),
            ("first", False),
            ("all", False),
            ("auto", False),
            ("auto", True),
        ):
            await here.run("config set", {"key": "reply_mode", "value": mode})
            before = len(here.ours())
            asked.append(here.post("hey vex", user=OWNER))
            if between:
                here.post("hm")
            await here.wait_for(lambda before=before: "Well?" in here.said()[before:])  # type: ignore[misc]
            await here.idle()
            counts.append(len(here.ours()) - before)
        assert counts == [2, 3, 3, 2, 3]
        word = "it contains a trigger word of a persona"
        await whys(here, *((one, word) for one in (*asked, *(one.id for one in here.ours()))))

    run_with_bot(scenario, *["Yes?\nWell?"] * 5)


def test_what_is_said_after_a_question_stands_after_it() -> None:
    async def scenario(here: BotHarness) -> None:
        first = here.ask("count")
        await here.wait_for(lambda: here.said() == ["One."])
        aside = here.post("it is loud here", user="aya")
        waits = here.ask("and me?", user=OWNER)
        await here.wait_for(lambda: here.bot.channel_turns.waiting() == 1)
        await here.run("stop", user=MEMBER)
        answers = await here.says("One.", "Two.", "You too.")
        asked = here.asked().text
        places = [
            asked.index(words)
            for words in (
                "Renny: @Oshaberi count",
                "One.",
                "aya: it is loud here",
                "mika: @Oshaberi and me?",
                "Two.",
                '(Now answer what mika wrote: "@Oshaberi and me?".',
            )
        ]
        assert places == sorted(places)
        mentions = ((one, MENTION) for one in (first, waits, *(one.id for one in answers)))
        await whys(here, (aside, UNADDRESSED), *mentions)

    run_with_bot(scenario, (Say("One.\nTwo. Thr"), Stall()), "You too.")


def proxied(here: BotHarness, words: str, name: str = "Mika | she", *, mention: bool = True) -> int:
    """A proxy bot repeats somebody's words through its webhook."""
    speaker = message_posting.PostAuthor(4711, 4711, name, None, PROXY_BOTS[0])
    place = here.stage.world.channel("general")
    bot = here.stage.world.bot.id
    draft = MessageDraft(content=f"<@{bot}> {words}" if mention else words)
    return message_posting.post(here.stage.state, place, speaker, draft).id


def spoken(here: BotHarness) -> list[str]:
    """What the bot said itself, without the webhooks of others."""
    return [one.content for one in here.ours() if one.webhook_id is None]


def test_a_proxys_message_is_its_persons() -> None:
    async def scenario(here: BotHarness) -> None:
        place = here.id_of("general")
        original = here.post(f"<@{here.stage.world.bot.id}> who am I? -m")
        await gathering(here, place)
        copy = proxied(here, "who am I?")
        here.stage.people.delete(original)
        await here.wait_for(lambda: spoken(here) == ["Mika."])
        await here.idle()
        assert spoken(here) == ["Mika."]
        assert here.asked().last.endswith("Mika | she: @Oshaberi who am I?")
        turn = await here.db.turns.last(place)
        assert turn is not None
        assert turn.user_id == here.stage.world.user(MEMBER).id
        (answer,) = [one.id for one in here.ours() if one.webhook_id is None]
        await whys(here, (copy, MENTION), (answer, MENTION))
        assert await here.bot.channel_turns.why(original) == (
            "Because a proxy bot replaced it by its copy."
        )

    run_with_bot(scenario, "Mika.", "Never.", **PATIENT)


def test_a_copy_is_not_answered_again() -> None:
    async def scenario(here: BotHarness) -> None:
        original = here.ask("who am I?")
        await here.says("Ren.")
        copy = proxied(here, "who am I?")
        await decided(here, copy)
        assert spoken(here) == ["Ren."]
        await whys(
            here,
            (original, MENTION),
            (copy, "it is the copy that a proxy bot made of a message that was answered"),
        )

    run_with_bot(scenario, "Ren.", "Never.")


def test_bots_that_may_talk_stop_by_themselves() -> None:
    described = world(members=[OWNER, MEMBER, {"name": "robot", "bot": True, "id": ROBOT}])

    async def scenario(here: BotHarness) -> None:
        rounds = []
        for number in range(3):
            rounds.append(here.ask(f"beep {number}", user="robot"))
            await here.asked_times(min(number + 1, 2))
            await here.idle()
        await decided(here, rounds[-1])
        person = here.post("what are they doing", user=OWNER)
        again = here.ask("beep", user="robot")
        await here.asked_times(3)
        await here.idle()
        answers = [one.id for one in here.ours() if one.content.startswith("Boop")]
        assert len(answers) == 3
        await whys(
            here,
            *((one, MENTION) for one in answers),
            (rounds[0], MENTION),
            (rounds[1], MENTION),
            (
                rounds[2],
                "bots had answered each other often enough; now a person has to write "
                "(bot_rounds_limit)",
            ),
            (person, UNADDRESSED),
            (again, MENTION),
        )

    run_with_bot(
        scenario,
        *(f"Boop {number}." for number in range(4)),
        described=described,
        answer_bots=[ROBOT],
        bot_rounds_limit=2,
    )


@pytest.mark.parametrize(("above", "count"), [(0, 60), (300, 16)])
def test_a_tutorial_is_not_sixty_bubbles(above: int, count: int) -> None:
    lines = [f"Step {number}: do it now." for number in range(10, 70)]

    async def scenario(here: BotHarness) -> None:
        asked = here.ask("teach me")
        await here.wait_for(lambda: here.said() and here.said()[-1].endswith(lines[-1]))
        await here.idle()
        assert "\n".join(here.said()).split("\n") == lines
        assert len(here.said()) == count
        await whys(
            here, (asked, MENTION), (here.ours()[0].id, MENTION), (here.ours()[-1].id, MENTION)
        )

    run_with_bot(scenario, "\n".join(lines), whole_above_chars=above, max_flush_count=1000)
