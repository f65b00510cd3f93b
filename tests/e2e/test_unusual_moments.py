"""Moments that are rare one by one: replies to oneself, second thoughts, late copies, two bots."""

from __future__ import annotations

from datetime import timedelta

import pytest

from discord_stage.control.api import start_thread
from discord_stage.model_servers.scripts import Say, Stall
from discord_stage.rules.messages import FORWARD, MessageDraft
from discord_stage.world.records import MessageType
from discord_stage.world_changes import message_posting
from oshaberi.bot.client import message_reader
from tests.bot.client_harness import MEMBER, MODERATOR, OWNER, world
from tests.e2e.bot_harness import MENTION, BotHarness, run_with_bot, whys
from tests.e2e.test_bursts import PLACE, parts, written
from tests.e2e.test_channel_settings import PLACES
from tests.e2e.test_languages import JAPANESE, YUKI
from tests.e2e.test_when_it_speaks import (
    BURST,
    LISTENING,
    OTHERS,
    PATIENT,
    ROBOT,
    UNADDRESSED,
    decided,
    drawing,
    gathering,
    proxied,
    seen_typing,
    spoken,
)

TRIGGER = "it contains a trigger word of a persona"
ROUNDS = "bots had answered each other often enough; now a person has to write (bot_rounds_limit)"
AGO = "the bot and its author had been talking N s ago: chance 0.8, drew"


def test_a_reply_to_oneself_is_for_nobody_else() -> None:
    """It is a part of the question, or heard like any other message."""

    async def scenario(here: BotHarness) -> None:
        drawing(here, 0.1, 0.2)
        first = here.ask("hey")
        await gathering(here, here.id_of(PLACE))
        second = here.post("I mean this", reply_to=first)
        await gathering(here, here.id_of(PLACE), 2)
        written(here)
        (hi,) = await here.says("Hi.")
        on = here.post("and this", reply_to=second)
        await gathering(here, here.id_of(PLACE))
        written(here)
        _, fine = await here.says("Hi.", "Fine.")
        me = here.post(f"<@{here.stage.world.user(MEMBER).id}> me, I mean")
        await gathering(here, here.id_of(PLACE))
        written(here)
        await here.says("Hi.", "Fine.", "You.")
        aside = here.post("not me", reply_to=second, user=OWNER)
        await decided(here, aside)
        await whys(
            here,
            (first, MENTION),
            (second, BURST),
            (hi.id, MENTION),
            (on, f"{AGO} 0.1"),
            (fine.id, f"{AGO} 0.1"),
            (me, f"{AGO} 0.2"),
            (aside, OTHERS),
        )

    run_with_bot(scenario, "Hi.", "Fine.", "You.", **PATIENT, **LISTENING)


def test_a_part_that_is_edited_for_somebody_else_leaves_the_question() -> None:
    async def scenario(here: BotHarness) -> None:
        place, mika = here.id_of(PLACE), here.stage.world.user(OWNER).id
        first = here.ask("how tall is Fuji")
        await gathering(here, place)
        second = here.post("lunch?")
        await gathering(here, place, 2)
        here.stage.people.edit(second, f"<@{mika}> lunch?")
        await here.wait_for(lambda: parts(here) == ["@Oshaberi how tall is Fuji"])
        written(here)
        (answer,) = await here.says("3776.")
        await whys(here, (first, MENTION), (second, OTHERS), (answer.id, MENTION))

    run_with_bot(scenario, "3776.", **PATIENT)


def test_what_the_bot_overheard_is_edited_for_somebody_else() -> None:
    async def scenario(here: BotHarness) -> None:
        drawing(here, 0.1)
        mika = here.stage.world.user(OWNER).id
        here.ask("hello?")
        await here.says("Hi.")
        on = here.post("lunch")
        await gathering(here, here.id_of(PLACE))
        here.stage.people.edit(on, f"<@{mika}> lunch?")
        await here.wait_for(lambda: parts(here) == [])
        await here.idle()
        assert here.said() == ["Hi."]
        await whys(here, (on, OTHERS))

    run_with_bot(scenario, "Hi.", "Never.", **PATIENT, **LISTENING)


def test_two_bots_share_the_rounds_of_a_channel() -> None:
    other = {"name": "gizmo", "bot": True, "id": ROBOT + 1}
    described = world(members=[OWNER, MEMBER, {"name": "robot", "bot": True, "id": ROBOT}, other])

    async def scenario(here: BotHarness) -> None:
        asked = []
        for count, name in ((1, "robot"), (2, "gizmo"), (2, "robot"), (2, "gizmo")):
            asked.append(here.ask("beep", user=name))
            await here.asked_times(count)
            await decided(here, asked[-1])
            await here.idle()
        elsewhere = here.ask("beep", user="gizmo", channel="logs")
        await here.asked_times(3)
        await here.idle()
        await whys(
            here,
            *((one, MENTION) for one in asked[:2]),
            *((one, ROUNDS) for one in asked[2:]),
            (elsewhere, MENTION),
        )
        assert len(here.model.requests) == 3

    listed = [ROBOT, ROBOT + 1]
    run_with_bot(
        scenario, *["Boop."] * 4, described=described, answer_bots=listed, bot_rounds_limit=2
    )


def test_a_copy_that_comes_too_late_is_the_webhooks_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows any more whose words it repeats: it has no rights of theirs, and few rounds."""
    monkeypatch.setattr(message_reader, "WITHIN", timedelta(0))

    async def scenario(here: BotHarness) -> None:
        original = here.ask("who am I?")
        await here.says("Ren.")
        copies = [proxied(here, "who am I?")]
        await here.wait_for(lambda: spoken(here) == ["Ren.", "Somebody."])
        await here.idle()
        turn = await here.db.turns.last(here.id_of(PLACE))
        assert turn is not None
        assert turn.user_id == 4711
        copies.append(proxied(here, "who am I?"))
        await decided(here, copies[-1])
        await here.idle()
        assert len(spoken(here)) == 2
        await whys(here, (original, MENTION), (copies[0], MENTION), (copies[1], ROUNDS))

    run_with_bot(scenario, "Ren.", "Somebody.", "Never.", bot_rounds_limit=1)


def test_who_speaks_through_a_proxy_has_one_chance_not_two() -> None:
    """The copy of a message that was heard by chance shares its luck."""

    async def scenario(here: BotHarness) -> None:
        drawing(here, 0.9, 0.1, 0.3)
        here.ask("hello?")
        await here.wait_for(lambda: spoken(here) == ["Hi."])
        await here.idle()
        unlucky = here.post("and you -m")
        await decided(here, unlucky)
        passed = proxied(here, "and you", mention=False)
        await decided(here, passed)
        lucky = here.post("well? -m")
        await gathering(here, here.id_of(PLACE))
        copy = proxied(here, "well?", mention=False)
        await here.wait_for(lambda: parts(here) == ["well?"])
        here.stage.people.delete(lucky)
        written(here)
        await here.wait_for(lambda: spoken(here) == ["Hi.", "Well."])
        await here.idle()
        other = here.post("nice", user=OWNER)
        await gathering(here, here.id_of(PLACE))
        written(here)
        await here.wait_for(lambda: spoken(here) == ["Hi.", "Well.", "Yes."])
        await here.idle()
        ago = "nobody was addressed; the bot had been talking here N s ago: chance 0.8, drew 0.9"
        overheard = "the bot had been talking here N s ago: chance 0.4, drew 0.3"
        await whys(here, (unlucky, ago), (passed, ago), (copy, f"{AGO} 0.1"), (other, overheard))

    run_with_bot(scenario, "Hi.", "Well.", "Yes.", **PATIENT, **LISTENING)


def test_a_copy_does_not_come_too_soon_after_its_original() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("who am I? -m")
        await gathering(here, here.id_of(PLACE))
        copy = proxied(here, "who am I")
        await here.wait_for(lambda: parts(here) == ["@Oshaberi who am I"])
        written(here)
        await here.wait_for(lambda: spoken(here) == ["Mika."])
        await here.idle()
        soon = here.ask("and now?")
        await decided(here, soon)
        cooldown = "its author had asked a moment before (cooldown_ms)"
        await whys(here, (copy, MENTION), (soon, cooldown))

    run_with_bot(scenario, "Mika.", "Never.", **PATIENT, cooldown_ms=600_000)


def test_a_thread_listens_as_its_category_says() -> None:
    async def scenario(here: BotHarness) -> None:
        drawing(here, 0.1)
        for value, place in (("3600000", "games"), ("0", "chess")):
            await here.run("config set", {"key": "attention_ms", "value": value, "in": place})
        on: list[int] = []
        for place in ("openings", "cards", "general"):
            here.ask("hello?", channel=place)
            await here.says("Hi.", channel=place)
            on.append(here.post("and you", channel=place))
            await decided(here, on[-1])
            await here.idle()
        openings, cards, general = on
        assert here.said("cards") == ["Hi.", "Hi."]
        await whys(here, (openings, UNADDRESSED), (cards, f"{AGO} 0.1"), (general, UNADDRESSED))
        await here.run("config reset", {"key": "attention_ms", "in": "chess"})
        shown = await here.run("config show", {"key": "attention_ms"}, channel="openings")
        assert f"(from the category <#{here.id_of('games')}>)" in shown

    run_with_bot(scenario, *["Hi."] * 4, described=PLACES)


def test_everybody_is_a_role_and_a_blocked_role_counts_more() -> None:
    async def scenario(here: BotHarness) -> None:
        everybody, mods = here.server_id, here.stage.world.role("mods").id
        await here.run("config set", {"key": "allowed_roles", "value": f"<@&{everybody}>"})
        await here.run("config set", {"key": "blocked_roles", "value": f"<@&{mods}>"})
        blocked = here.ask("me?", user=MODERATOR)
        asked = here.ask("me?")
        (you,) = await here.says("You.")
        role = "a role of its author is blocked (blocked_roles)"
        await whys(here, (blocked, role), (asked, MENTION), (you.id, MENTION))

    run_with_bot(scenario, "You.", "Never.")


def test_a_restricted_persona_that_another_one_calls() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Tea", is_default=True)
        await here.persona("Ren", triggers=("ren",))
        await here.persona("Vex", triggers=("vex",), is_age_restricted=True)
        here.post("hey ren")
        await here.says("Ask vex.")
        deep = here.post("hey ren", channel="below the cellar")
        ren, vex = await here.says("Ask vex.", "Yes?", channel="below the cellar")
        assert (ren.username, vex.username) == ("Ren", "Vex")
        refused = here.post("and you there", reply_to=here.ours()[0].id)
        await here.says("Ask vex.", "Hm.")
        called = "another persona called this one by its trigger word"
        reply = "it replies to a message of the bot"
        await whys(here, (deep, TRIGGER), (ren.id, TRIGGER), (vex.id, called), (refused, reply))
        direct = here.stage.people.dm("hey vex", user=OWNER)
        await here.says("Tea.", channel=f"@{OWNER}")
        await whys(here, (direct.id, "it is a direct message"))

    answers = ("Ask vex.", "Ask vex.", "Yes?", "Hm.", "Tea.")
    run_with_bot(scenario, *answers, described=PLACES, reply_mode="off")


def test_a_japanese_reader_in_a_direct_message() -> None:
    async def scenario(here: BotHarness) -> None:
        silent = here.stage.people.dm("おやすみ", user=YUKI)
        await here.asked_times(1)
        await here.idle()
        said = here.stage.people.dm("まだいる？", user=YUKI)
        (answer,) = await here.says("いるよ。", channel=f"@{YUKI}")
        told = [
            await here.choose("Why this turn", one.id, user=YUKI) for one in (silent, said, answer)
        ]
        assert told[0].endswith("モデルのメモ：「夜だから」。")
        assert told[1] == told[2] == "理由：ダイレクトメッセージだったため。"

    run_with_bot(scenario, "NO_REPLY（夜だから）", "いるよ。", described=JAPANESE)


def test_typing_elsewhere_does_not_count() -> None:
    described = world({"name": "general", "threads": ["side"]}, "logs")

    async def scenario(here: BotHarness) -> None:
        side = here.id_of("side")
        first = here.ask("hey", channel="side")
        await gathering(here, side)
        here.stage.people.type("general", user=MEMBER)
        here.stage.people.type("side", user=OWNER)
        elsewhere = here.post("and here")
        await decided(here, elsewhere)
        job = here.bot.channel_turns.current(side)
        assert job is not None
        assert job.burst is not None
        assert job.burst._typing_s <= job.burst._quiet_s
        here.stage.people.type("side", user=MEMBER)
        await seen_typing(here, side)
        second = here.post("are you there", channel="side")
        await gathering(here, side, 2)
        job.burst.end()
        (answer,) = await here.says("Yes.", channel="side")
        await whys(here, (first, MENTION), (second, BURST), (elsewhere, UNADDRESSED))
        assert int((answer.reference or {})["message_id"]) == second

    run_with_bot(scenario, "Yes.", described=described, **PATIENT)


def test_one_of_two_personas_says_nothing() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        for name in ("Vex", "Kuro"):
            await here.persona(name, triggers=(name.lower(),))
        asked = here.post("vex and kuro?")
        (answer,) = await here.says("Meow.")
        assert answer.username == "Kuro"
        both = here.post("kuro and vex, hush")
        await here.asked_times(4)
        await here.idle()
        assert here.said() == ["Meow."]
        silent = "the model read it and chose to say nothing (silence_markers). It noted: “hushed”"
        await whys(here, (asked, TRIGGER), (answer.id, TRIGGER), (both, silent))

    answers = ("NO_REPLY (Kuro is asked)", "Meow.", "NO_REPLY", "NO_REPLY: hushed")
    run_with_bot(scenario, *answers, reply_mode="off")


def test_a_user_and_a_channel_that_are_named_like_a_persona() -> None:
    """Nobody typed their names. Who types `@Mochi` means the persona, which cannot be mentioned."""
    mochi = "mochi"
    described = world(PLACE, f"{mochi}-fans", members=[OWNER, MEMBER, mochi])

    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Mochi", triggers=(mochi,))
        user = here.post(f"<@{here.stage.world.user(mochi).id}> lunch?")
        place = here.post(f"see <#{here.id_of(f'{mochi}-fans')}>")
        typed = here.post("@Mochi lunch?")
        (answer,) = await here.says("Me?")
        tell = here.ask(f"tell <@{here.stage.world.user(mochi).id}> hello")
        _, told = await here.says("Me?", "Hello!")
        assert (answer.username, told.author_id) == ("Mochi", here.stage.world.bot.id)
        await whys(here, (user, OTHERS), (place, UNADDRESSED), (typed, TRIGGER), (tell, MENTION))

    run_with_bot(scenario, "Me?", "Hello!", described=described, reply_mode="off")


def test_a_forwarded_message_calls_nobody() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Vex", triggers=("vex",))
        called = here.post("hey vex", channel="logs")
        await here.says("Yes?", channel="logs")
        ren, general = here.stage.world.user(MEMBER).id, here.stage.world.channel(PLACE)
        source = {"type": FORWARD, "channel_id": here.id_of("logs"), "message_id": called}
        speaker = message_posting.PostAuthor(ren)
        forwarded = message_posting.post(
            here.stage.state, general, speaker, MessageDraft(reference=source)
        )
        await decided(here, forwarded.id)
        await whys(here, (called, TRIGGER), (forwarded.id, UNADDRESSED))

    run_with_bot(scenario, "Yes?", "Never.", reply_mode="off")


def test_a_mention_behind_its_question() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.post(f"how tall is Fuji? <@{here.stage.world.bot.id}>")
        await here.wait_for(lambda: here.said() == ["3776."])
        job = here.bot.channel_turns.current(here.id_of(PLACE))
        assert job is not None
        assert job.burst is None, "it is complete: nobody waits for more"
        await here.run("stop", user=MEMBER)
        answers = await here.says("3776.", "Metres.")
        await whys(here, (asked, MENTION), *((one.id, MENTION) for one in answers))

    run_with_bot(scenario, (Say("3776.\nMetres. Or"), Stall()), **PATIENT)


def started_on(here: BotHarness, message_id: int) -> int:
    """Somebody starts a thread on a message; Discord shows that message at its beginning."""
    state, parent = here.stage.state, here.stage.world.channel(PLACE)
    message = state.world.messages[parent.id][message_id]
    ren = here.stage.world.user(MEMBER).id
    thread = start_thread(state, parent, ren, "side", "", message)
    return next(iter(state.world.messages[thread.id]))


@pytest.mark.parametrize("is_auto", [True, False])
def test_a_thread_on_a_question_does_not_ask_it_again(is_auto: bool) -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Vex", triggers=("vex",))
        if is_auto:
            everywhere = {"key": "auto_channels", "value": f"<#{here.id_of(PLACE)}>"}
            await here.run("config set", everywhere)
        asked = here.post("hello vex")
        await here.says("Yes?")
        starter = started_on(here, asked)
        on = here.post("vex, go on", channel="side")
        (answer,) = await here.says("Well.", channel="side")
        assert "hello vex" in here.asked().text, "it is history"
        reason = "every message of this channel is answered (auto_channels)" if is_auto else TRIGGER
        posted = "Discord posted it, not a person"
        await whys(here, (asked, reason), (starter, posted), (on, reason), (answer.id, reason))

    run_with_bot(scenario, "Yes?", "Well.", "Never.", reply_mode="off")


def test_who_joins_is_not_answered() -> None:
    async def scenario(here: BotHarness) -> None:
        everywhere = {"key": "auto_channels", "value": f"<#{here.id_of(PLACE)}>"}
        await here.run("config set", everywhere)
        ren = message_posting.PostAuthor(here.stage.world.user(MEMBER).id)
        joined = message_posting.post(
            here.stage.state,
            here.stage.world.channel(PLACE),
            ren,
            MessageDraft(),
            kind=MessageType.MEMBER_JOINED,
        )
        here.post("hello")
        await here.says("Hi.")
        await whys(here, (joined.id, "Discord posted it, not a person"))

    run_with_bot(scenario, "Hi.", "Never.")


def test_a_message_to_everybody_during_a_talk() -> None:
    async def scenario(here: BotHarness) -> None:
        drawing(here)
        asked = here.ask("hello?", user=OWNER)
        await here.says("Hi.")
        everybody = here.post("@everyone lunch", user=OWNER)
        await decided(here, everybody)
        await whys(here, (asked, MENTION), (everybody, OTHERS))

    run_with_bot(scenario, "Hi.", "Never.", **LISTENING)
