"""Streams from the model to the channel, over real sockets."""

from __future__ import annotations

import asyncio
from typing import Any

import discord
import pytest

from oshaberi.stage import Fault, Settings
from oshaberi.stage.rest.injected_faults import EDIT, SEND, TYPING
from oshaberi.stream import FollowUp, Silence, Step, Stop, StopRegistry
from oshaberi.text.text_config import Persona, Sprite
from tests.discord_io.shows import Show, guild, perform

NO_LIMITS = Settings(rate_limits=False)
AKI = Persona("Aki", is_alter=True, avatar_url="https://faces.test/aki.png")
TOMORI = Persona(
    "Tomori",
    sprites=(
        Sprite("mad", "https://faces.test/mad.png"),
        Sprite("sad", "https://faces.test/sad.png"),
    ),
)
TABLE = "| name | age |\n|---|---|\n| Aki | 7 |\n"
STORY = "Hello there. I am here.\nThis is the second line.\n"
SLOW: dict[str, Any] = {"min_visible_typing_duration_ms": 400, "max_typing_time_ms": 400}
TOLD = {
    0: ["Hello there. I am here.\n\nThis is the second line."],
    1: ["Hello there. I am here.", "This is the second line."],
    2: ["Hello there. I am here.", "This is the second line."],
    3: ["hello there", "I am here", "this is the second line"],
}


@pytest.mark.parametrize("degree", TOLD)
@pytest.mark.parametrize("where", ["general", "a-thread", "@mika"])
def test_degrees_in_channels_threads_and_dms(degree: int, where: str) -> None:
    async def act(show: Show) -> None:
        result = await show.play(await place(show, where), STORY, degree=degree)
        assert (result.status, result.undelivered) == ("completed", "")
        assert texts(show, where) == TOLD[degree]

    perform(act, world=guild({"name": "general", "threads": ["a-thread"]}), settings=NO_LIMITS)


async def place(show: Show, where: str) -> Any:
    if not where.startswith("@"):
        return show.channel(where)
    user = show.bot.get_user(show.stage.world.user(where[1:]).id)
    assert user is not None
    return await user.create_dm()


def texts(show: Show, where: str) -> list[str]:
    if not where.startswith("@"):
        return show.contents(where)
    mika = show.stage.world.user(where[1:]).id
    channels = show.stage.world.channels.values()
    dm = next(channel.id for channel in channels if channel.recipient_id == mika)
    return show.stage.world.contents(dm)


def test_typing_is_shown_before_a_paced_message() -> None:
    async def act(show: Show) -> None:
        await show.play("general", "one\ntwo\n", degree=2, **SLOW)
        sends, typing = show.stage.calls(SEND), show.stage.calls(TYPING)
        between = [t for t in typing if sends[0].number < t.number < sends[1].number]
        assert len(between) == 1

    perform(act, settings=NO_LIMITS)


def test_typing_that_is_refused_once_is_not_tried_again() -> None:
    async def act(show: Show) -> None:
        show.stage.fault(Fault(kind="code", code=50013, route=TYPING, times=None))
        for _ in range(2):
            await show.play("general", "one\ntwo\nthree\n", degree=2, **SLOW)
        assert show.contents("general") == ["one", "two", "three"] * 2
        assert len(show.stage.calls(TYPING)) == 1

    perform(act, settings=NO_LIMITS)


def test_first_message_replies_and_nobody_is_pinged_for_it() -> None:
    async def act(show: Show) -> None:
        asked = await show.asked("general", "hello?")
        await show.play("general", "one @everyone\ntwo <@1>\n", answering=asked)
        first, second = show.messages("general")
        assert first.reference is not None
        assert first.reference["message_id"] == str(asked.id)
        assert second.reference is None
        for record in show.stage.calls(SEND):
            allowed = record.body["allowed_mentions"]
            assert allowed["parse"] == []
            assert allowed["users"] == [], "<@1> is nobody of the conversation"
            assert not allowed.get("replied_user")
            assert record.body["enforce_nonce"] is True
        assert (first.mention_everyone, first.notified) == (False, [])

    perform(act, settings=NO_LIMITS)


def test_reply_to_a_deleted_message_is_not_lost() -> None:
    async def act(show: Show) -> None:
        asked = await show.asked("general", "hello?")
        show.stage.people.delete(asked.id)
        await show.play("general", "one\n", answering=asked)
        assert [(m.content, m.reference) for m in show.messages("general")] == [("one", None)]

    perform(act, settings=NO_LIMITS)


def test_reply_without_history_permission_goes_out_plain() -> None:
    async def act(show: Show) -> None:
        posted = show.stage.people.post("general", "hello?", user="mika")
        asked = await show.stage.wait_for(
            lambda: next((m for m in show.bot.cached_messages if m.id == posted.id), None)
        )
        result = await show.play("general", "one\n", answering=asked)
        assert result.status == "completed"
        assert [(m.content, m.reference) for m in show.messages("general")] == [("one", None)]

    denied = {"role": "@everyone", "deny": ["read_message_history"]}
    bot = {"permissions": ["view_channel", "send_messages"]}
    world = guild({"name": "general", "overwrites": [denied]}) | {"bot": bot}
    perform(act, world=world, settings=NO_LIMITS)


@pytest.mark.parametrize("where", ["general", "a-thread"])
def test_alter_speaks_through_one_webhook_after_a_reply_notice(where: str) -> None:
    async def act(show: Show) -> None:
        asked = await show.asked(where, "how *are* you,\n<@&12> https://example.com friend?")
        for answering in (asked, None):
            await show.play(where, "one\ntwo\n", answering=answering, text={"persona": AKI})
        notice, *told = show.messages(where)
        assert [m.content for m in told] == ["one", "two"] * 2
        assert {(m.username, m.avatar) for m in told} == {("Aki", AKI.avatar_url)}
        assert notice.content == rf"-# ↩ **mika**: how \*are\* you, friend? {asked.jump_url}"
        request = show.stage.calls("POST /webhooks/*/*")[0].body
        assert (request["allowed_mentions"], request["flags"]) == ({"parse": []}, 4 | 4096)
        assert len(show.stage.world.webhooks) == 1
        assert len(show.stage.calls("GET /channels/*/webhooks")) == 1

    perform(act, world=guild({"name": "general", "threads": ["a-thread"]}), settings=NO_LIMITS)


def test_sprites_wear_their_faces_and_the_persona_is_the_bot() -> None:
    async def act(show: Show) -> None:
        script = "Hello.\nTomori (mad): Go away!\nTomori (sad): Please stay.\n"
        await show.play("general", script, text={"persona": TOMORI})
        told = show.messages("general")
        assert [(m.content, bool(m.webhook_id)) for m in told] == [
            ("Hello.", False),
            ("Go away!", True),
            ("Please stay.", True),
        ]
        assert [m.avatar for m in told[1:]] == [s.avatar_url for s in TOMORI.sprites]
        assert told[1].username != told[2].username

    perform(act, settings=NO_LIMITS)


def test_forbidden_names_are_made_acceptable() -> None:
    async def act(show: Show) -> None:
        persona = Persona("Clyde of Discord", is_alter=True, avatar_url="ftp://nowhere")
        await show.play("general", "one\n", text={"persona": persona})
        (told,) = show.messages("general")
        assert told.content == "one"
        assert told.webhook_id is not None
        assert told.avatar is None

    perform(act, settings=NO_LIMITS)


@pytest.mark.parametrize("persona", [None, AKI], ids=["bot", "webhook"])
def test_long_code_arrives_whole(persona: Persona | None) -> None:
    lines = [f"    value_{number} = {number}" for number in range(300)]
    code = "\n".join(lines)

    async def act(show: Show) -> None:
        await show.play("general", f"```py\n{code}\n```\n", text={"persona": persona})
        told = show.contents("general")
        assert len(told) == 3
        inside = [text.removeprefix("```py\n").removesuffix("\n```") for text in told]
        assert "\n".join(inside) == code

    perform(act, settings=NO_LIMITS)


@pytest.mark.parametrize("persona", [None, AKI], ids=["bot", "webhook"])
def test_live_mode_grows_one_message(persona: Persona | None) -> None:
    async def act(show: Show) -> None:
        steps: list[str | Step] = ["one\n", Silence(1500), "two\n", Silence(1500), "three\n"]
        await show.play("general", *steps, delivery="live", text={"persona": persona})
        assert show.contents("general") == ["one\ntwo\nthree"]
        edits = show.stage.calls(EDIT if persona is None else "PATCH /webhooks/*/*/messages/*")
        assert edits
        for edit in edits:
            assert edit.body["allowed_mentions"] == {"parse": [], "users": [], "roles": []}

    perform(act, settings=NO_LIMITS)


@pytest.mark.parametrize("persona", [None, AKI], ids=["bot", "webhook"])
def test_live_mode_shows_what_is_not_finished(persona: Persona | None) -> None:
    async def act(show: Show) -> None:
        begin = "Once upon a time there was a "
        text = {"persona": persona}
        steps: list[str | Step] = [begin, Silence(1500), "little ", Silence(1500), "fox."]
        await show.play("general", *steps, delivery="live", text=text)
        assert show.contents("general") == [f"{begin}little fox."]
        edits = show.stage.calls(EDIT if persona is None else "PATCH /webhooks/*/*/messages/*")
        assert [edit.body["content"] for edit in edits] == [f"{begin}little", f"{begin}little fox."]
        steps = ["Another line begins right here ", Silence(1500), FollowUp("77")]
        result = await show.play("general", *steps, delivery="live", text=text)
        assert result.status == "follow_up_interrupt"
        assert show.contents("general") == [f"{begin}little fox."]

    perform(act, settings=NO_LIMITS)


def test_live_message_that_was_deleted_goes_on_in_a_new_one() -> None:
    async def act(show: Show) -> None:
        show.stage.fault(Fault(kind="code", code=10008, route=EDIT))
        await show.play("general", "one\n", Silence(1500), "two\n", Silence(1500), delivery="live")
        assert show.contents("general") == ["one", "two"]

    perform(act, settings=NO_LIMITS)


def test_quiet_messages_and_hidden_previews() -> None:
    async def act(show: Show) -> None:
        await show.play("general", "one\ntwo\n", notify="first", suppress_embeds=True)
        assert [m.flags for m in show.messages("general")] == [4, 4 | 4096]

    perform(act, settings=NO_LIMITS)


def test_no_webhook_in_a_dm_so_the_bot_says_the_name() -> None:
    async def act(show: Show) -> None:
        result = await show.play(await place(show, "@mika"), "one\ntwo\n", text={"persona": AKI})
        assert result.status == "completed"
        assert texts(show, "@mika") == ["**Aki**: one", "two"]

    perform(act, settings=NO_LIMITS)


def test_fifteen_webhooks_are_used_up_so_the_bot_says_the_name() -> None:
    async def act(show: Show) -> None:
        show.stage.fault(Fault(kind="code", code=30007, route="POST /channels/*/webhooks"))
        for _ in range(2):
            await show.play("general", "one\n", text={"persona": AKI})
        assert show.contents("general") == ["**Aki**: one"] * 2
        assert len(show.stage.calls("* /channels/*/webhooks")) == 2  # asked once, then remembered

    perform(act, settings=NO_LIMITS)


@pytest.mark.parametrize("after", [False, True])
def test_creating_a_webhook_fails_without_leaving_two(after: bool) -> None:
    async def act(show: Show) -> None:
        fault = Fault(kind="reset", route="POST /channels/*/webhooks", after=after)
        show.stage.fault(fault)
        await show.play("general", "one\n", text={"persona": AKI})
        assert show.contents("general") == ["one"]
        assert len(show.stage.world.webhooks) == 1

    perform(act, settings=NO_LIMITS)


def test_gateway_drops_in_mid_stream() -> None:
    async def act(show: Show) -> None:
        async def drop() -> None:
            await show.stage.wait_for(lambda: show.contents("general"))
            show.stage.gateway.drop()

        cut = asyncio.create_task(drop())
        steps: list[str | Step] = [
            step for text in ("one", "two", "three") for step in (f"{text}\n", Silence(1000))
        ]
        result = await show.play("general", *steps, text={"persona": AKI})
        await cut
        assert (result.status, show.contents("general")) == ("completed", ["one", "two", "three"])

    perform(act, settings=NO_LIMITS)


def test_history_that_cannot_be_read_makes_a_webhook_message_uncertain() -> None:
    async def act(show: Show) -> None:
        show.stage.fault(Fault(kind="reset", route="POST /webhooks/*/*", after=True))
        result = await show.play("general", "one\n", Silence(9000), "two\n", text={"persona": AKI})
        assert [e.fate for e in result.ledger.entries] == ["uncertain", "delivered"]
        assert show.contents("general") == ["one", "two"]

    bot = {"permissions": ["view_channel", "send_messages", "manage_webhooks"]}
    denied = {"role": "@everyone", "deny": ["read_message_history"]}
    world = guild({"name": "general", "overwrites": [denied]}) | {"bot": bot}
    intents = discord.Intents(guilds=True)  # so that no event tells of it either
    perform(act, world=world, settings=NO_LIMITS, intents=intents)


def test_equal_messages_are_not_taken_for_each_other() -> None:
    async def act(show: Show) -> None:
        show.stage.fault(Fault(kind="reset", route="POST /webhooks/*/*", call=2))
        steps: list[str | Step] = ["yes\n", Silence(1500), "yes\n", Silence(1500), "yes\n"]
        await show.play("general", *steps, text={"persona": AKI})
        assert show.contents("general") == ["yes"] * 3

    perform(act, settings=NO_LIMITS)


def test_equal_messages_of_two_responses_are_not_taken_for_each_other() -> None:
    async def act(show: Show) -> None:
        await show.play("general", "yes\n", text={"persona": AKI})
        show.stage.fault(Fault(kind="reset", route="POST /webhooks/*/*"))
        await show.play("general", "yes\n", text={"persona": AKI})
        assert show.contents("general") == ["yes"] * 2

    perform(act, settings=NO_LIMITS)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("wait_s", [0.2, 600.0])
def test_looking_too_often_is_no_reason_to_give_up(after: bool, wait_s: float) -> None:
    """A history that is rate limited can be read later."""

    async def act(show: Show) -> None:
        history = "GET /channels/*/messages"
        show.stage.fault(Fault(kind="code", code=20028, retry_after_s=wait_s, route=history))
        show.stage.fault(Fault(kind="reset", route="POST /webhooks/*/*", after=after))
        result = await show.play("general", "one\n", text={"persona": AKI})
        assert [e.fate for e in result.ledger.entries] == ["delivered"]
        assert show.contents("general") == ["one"]

    intents = discord.Intents(guilds=True, message_content=True)
    perform(act, settings=NO_LIMITS, intents=intents)


def test_hidden_messages_are_no_witnesses() -> None:
    """Without the message content intent nobody can say which message it is that arrived."""

    async def act(show: Show) -> None:
        show.stage.fault(Fault(kind="reset", route="POST /webhooks/*/*", after=True))
        result = await show.play("general", "one\n", text={"persona": AKI})
        assert [e.fate for e in result.ledger.entries] == ["uncertain"]
        assert show.contents("general") == ["one"]

    intents = discord.Intents.default()
    world = guild("general") | {"bot": {"intents": []}}
    perform(act, world=world, settings=NO_LIMITS, intents=intents)


def test_archived_thread_is_woken_once() -> None:
    async def act(show: Show) -> None:
        show.stage.fault(Fault(kind="code", code=50083, route=SEND))
        await show.play("a-thread", "one\ntwo\n")
        assert show.contents("a-thread") == ["one", "two"]
        (wake,) = show.stage.calls("PATCH /channels/*")
        assert wake.body == {"archived": False}

    perform(act, world=guild({"name": "general", "threads": ["a-thread"]}), settings=NO_LIMITS)


def test_messages_that_had_to_wait_are_joined_and_still_there_once() -> None:
    async def act(show: Show) -> None:
        lines = [f"line {number}" for number in range(10)]
        show.stage.fault(Fault(kind="status", status=503, route=SEND, call=2, times=2, after=True))
        result = await show.play("general", "\n".join(lines))
        told = show.contents("general")
        assert result.status == "completed"
        assert "\n".join(told).splitlines() == lines
        assert len(told) < len(lines)

    perform(act, settings=NO_LIMITS)


def test_three_refusals_break_the_circuit() -> None:
    async def act(show: Show) -> None:
        show.stage.fault(Fault(kind="code", code=50013, route=SEND, times=None))
        results = [await show.play("general", "one\n") for _ in range(5)]
        assert {r.stop_reason for r in results} == {"channel_unavailable"}
        assert {r.undelivered for r in results} == {"one"}
        assert len(show.stage.calls(SEND)) == 3
        await show.play("random", "elsewhere\n")
        assert len(show.stage.calls(SEND)) == 4

    perform(act, settings=NO_LIMITS)


@pytest.mark.parametrize("persona", [None, AKI], ids=["bot", "webhook"])
def test_stop_withdraws_a_message_that_waits_for_a_rate_limit(persona: Persona | None) -> None:
    """A bucket of five is free again after five seconds, a webhook's after two."""

    async def act(show: Show) -> None:
        stops = StopRegistry()
        lines = [f"line {number}\n```\n{number}\n```\n" for number in range(6)]
        steps: list[str | Step] = [*lines, Silence(500), Stop("77")]
        result = await show.play("general", *steps, stops=stops, text={"persona": persona})
        assert (result.status, result.stop_reason) == ("stopped_by_user", "user_request")
        assert len(show.contents("general")) == 5
        assert result.metrics.duration_ms < 1900
        await asyncio.sleep(6)
        assert len(show.contents("general")) == 5

    perform(act, speed=4.0)


def test_stop_withdraws_a_reply_notice_that_waits_for_a_rate_limit() -> None:
    async def act(show: Show) -> None:
        stops = StopRegistry()
        asked = await show.asked("general", "hello?")
        await show.play("general", "a\nb\nc\nd\ne\n", text={"persona": AKI})
        steps: list[str | Step] = ["one\ntwo\n", Silence(400), Stop("77")]
        result = await show.play(
            "general", *steps, answering=asked, stops=stops, text={"persona": AKI}
        )
        assert (result.status, result.undelivered) == ("stopped_by_user", "one\ntwo")
        await asyncio.sleep(4)
        assert show.contents("general") == ["a", "b", "c", "d", "e"]

    perform(act, speed=4.0)


@pytest.mark.parametrize("persona", [None, AKI], ids=["bot", "webhook"])
def test_stop_withdraws_an_edit_that_waits_for_a_rate_limit(persona: Persona | None) -> None:
    """What it was to say is said by the closing edit, the only one that leaves."""

    async def act(show: Show) -> None:
        stops = StopRegistry()
        route = EDIT if persona is None else "PATCH /webhooks/*/*/messages/*"
        fault = Fault(kind="status", status=429, retry_after_s=6.0, route=route)
        show.stage.fault(fault)
        steps: list[str | Step] = ["one\ntwo\nthree\n", Silence(1800), Stop("77")]
        result = await show.play(
            "general", *steps, stops=stops, delivery="live", text={"persona": persona}
        )
        assert (result.status, result.undelivered) == ("stopped_by_user", "")
        assert show.contents("general") == ["one\ntwo\nthree"]
        assert result.metrics.duration_ms < 5000
        await asyncio.sleep(6)
        assert [call.status for call in show.stage.calls(route)] == [429, 200]

    perform(act, settings=NO_LIMITS, speed=4.0)


def test_revoked_token_ends_the_stream_and_nothing_is_uncertain(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def act(show: Show) -> None:
        show.stage.fault(Fault(kind="status", status=401, route=SEND, call=2, times=None))
        result = await show.play("general", "one\ntwo\nthree\n")
        assert (result.status, result.stop_reason) == ("stopped_by_user", "channel_unavailable")
        assert [e.fate for e in result.ledger.entries] == [
            "delivered",
            "channel_unavailable",
            "channel_unavailable",
        ]
        assert len(show.stage.calls(SEND)) == 2

    perform(act, settings=NO_LIMITS)
    (told,) = [record for record in caplog.records if record.name.startswith("oshaberi")]
    assert "does not accept the bot's token" in told.getMessage()


def test_revoked_token_is_not_taken_for_a_missing_webhook() -> None:
    async def act(show: Show) -> None:
        show.stage.fault(Fault(kind="status", status=401, route="* /channels/*", times=None))
        result = await show.play("general", "one\n", text={"persona": AKI})
        assert (result.stop_reason, result.undelivered) == ("channel_unavailable", "one")
        assert show.stage.calls(SEND) == []

    perform(act, settings=NO_LIMITS)
