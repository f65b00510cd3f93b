"""Streams from the model to the channel, over real sockets."""

from __future__ import annotations

import asyncio
from typing import Any

import discord
import pytest

from discord_stage import Fault, Settings
from discord_stage.requests.injected_faults import EDIT, SEND, TYPING, WEBHOOK
from oshaberi.delivery.typing_indicator import KEEP_ALIVE_SECONDS
from oshaberi.stream import FollowUp, Silence, Step, Stop, StopRegistry, StreamConfig
from oshaberi.text.config import Persona, Sprite
from tests.discord_io.sink_harness import SinkHarness, guild, run_with_sinks

NO_LIMITS = Settings(rate_limits=False)
LONG_WINDOW = Settings(time_scale=0.1)
"""Buckets are free again after ten times as long: a busy machine does not take as long."""
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
TYPED: dict[str, Any] = {
    name: getattr(StreamConfig(), name)
    for name in (
        "base_type_speed_ms_per_char",
        "min_visible_typing_duration_ms",
        "max_typing_time_ms",
    )
}
"""The pace of the default settings."""
TOLD = {
    0: ["Hello there. I am here.\n\nThis is the second line."],
    1: ["Hello there. I am here.", "This is the second line."],
    2: ["Hello there. I am here.", "This is the second line."],
    3: ["hello there", "I am here", "this is the second line"],
}


@pytest.mark.parametrize("degree", TOLD)
@pytest.mark.parametrize("where", ["general", "a-thread", "@mika"])
def test_degrees_in_channels_threads_and_dms(degree: int, where: str) -> None:
    async def scenario(harness: SinkHarness) -> None:
        result = await harness.play(await place(harness, where), STORY, degree=degree)
        assert (result.status, result.undelivered) == ("completed", "")
        assert texts(harness, where) == TOLD[degree]

    run_with_sinks(
        scenario, world=guild({"name": "general", "threads": ["a-thread"]}), settings=NO_LIMITS
    )


async def place(harness: SinkHarness, where: str) -> Any:
    if not where.startswith("@"):
        return harness.channel(where)
    user = harness.bot.get_user(harness.stage.world.user(where[1:]).id)
    assert user is not None
    return await user.create_dm()


def texts(harness: SinkHarness, where: str) -> list[str]:
    if not where.startswith("@"):
        return harness.contents(where)
    mika = harness.stage.world.user(where[1:]).id
    channels = harness.stage.world.channels.values()
    dm = next(channel.id for channel in channels if channel.recipient_id == mika)
    return harness.stage.world.contents(dm)


def test_typing_is_shown_before_a_paced_message() -> None:
    async def scenario(harness: SinkHarness) -> None:
        await harness.play("general", "one\ntwo\n", degree=2, **SLOW)
        sends, typing = harness.stage.calls(SEND), harness.stage.calls(TYPING)
        # The first request is sent beside the first message, so either may arrive first.
        assert len(typing) == 2
        assert sends[0].number < typing[1].number < sends[1].number

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_typing_is_kept_alive_with_few_requests() -> None:
    lines = [step for line in range(24) for step in (f"line {line} of the code\n", Silence(1000))]

    async def scenario(harness: SinkHarness) -> None:
        began = asyncio.get_running_loop().time()
        result = await harness.play("general", "Look:\n```\n", *lines, "```\nDone.", degree=1)
        took_s = asyncio.get_running_loop().time() - began
        assert result.status == "completed"
        sends, typing = harness.stage.calls(SEND), harness.stage.calls(TYPING)
        between = [t for t in typing if sends[0].number < t.number < sends[1].number]
        assert len(sends) == 3
        # At least 24 seconds of code, of which one request serves ten.
        assert 3 <= len(between) <= took_s / KEEP_ALIVE_SECONDS + 1

    run_with_sinks(scenario, settings=NO_LIMITS, speed=20)


def test_typing_that_is_refused_once_is_not_tried_again() -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="code", code=50013, route=TYPING, times=None))
        for _ in range(2):
            await harness.play("general", "one\ntwo\nthree\n", degree=2, **SLOW)
        assert harness.contents("general") == ["one", "two", "three"] * 2
        assert len(harness.stage.calls(TYPING)) == 1

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_first_message_replies_and_nobody_is_pinged_for_it() -> None:
    async def scenario(harness: SinkHarness) -> None:
        asked = await harness.asked("general", "hello?")
        await harness.play("general", "one @everyone\ntwo <@1>\n", answering=asked)
        first, second = harness.messages("general")
        assert first.reference is not None
        assert first.reference["message_id"] == str(asked.id)
        assert second.reference is None
        for record in harness.stage.calls(SEND):
            allowed = record.body["allowed_mentions"]
            assert allowed["parse"] == []
            assert allowed["users"] == [], "<@1> is nobody of the conversation"
            assert not allowed.get("replied_user")
            assert record.body["enforce_nonce"] is True
        assert (first.mention_everyone, first.notified) == (False, [])

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_reply_to_a_deleted_message_is_not_lost() -> None:
    async def scenario(harness: SinkHarness) -> None:
        asked = await harness.asked("general", "hello?")
        harness.stage.people.delete(asked.id)
        await harness.play("general", "one\n", answering=asked)
        assert [(m.content, m.reference) for m in harness.messages("general")] == [("one", None)]

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_reply_without_history_permission_goes_out_plain() -> None:
    async def scenario(harness: SinkHarness) -> None:
        posted = harness.stage.people.post("general", "hello?", user="mika")
        asked = await harness.stage.wait_for(
            lambda: next((m for m in harness.bot.cached_messages if m.id == posted.id), None)
        )
        result = await harness.play("general", "one\n", answering=asked)
        assert result.status == "completed"
        assert [(m.content, m.reference) for m in harness.messages("general")] == [("one", None)]

    denied = {"role": "@everyone", "deny": ["read_message_history"]}
    bot = {"permissions": ["view_channel", "send_messages"]}
    world = guild({"name": "general", "overwrites": [denied]}) | {"bot": bot}
    run_with_sinks(scenario, world=world, settings=NO_LIMITS)


@pytest.mark.parametrize("where", ["general", "a-thread"])
def test_alter_speaks_through_one_webhook_after_a_reply_notice(where: str) -> None:
    async def scenario(harness: SinkHarness) -> None:
        asked = await harness.asked(where, "how *are* you,\n<@&12> https://example.com friend?")
        for answering in (asked, None):
            await harness.play(where, "one\ntwo\n", answering=answering, text={"persona": AKI})
        notice, *told = harness.messages(where)
        assert [m.content for m in told] == ["one", "two"] * 2
        assert {(m.username, m.avatar) for m in told} == {("Aki", AKI.avatar_url)}
        assert notice.content == rf"-# ↩ **mika**: how \*are\* you, friend? {asked.jump_url}"
        request = harness.stage.calls("POST /webhooks/*/*")[0].body
        assert (request["allowed_mentions"], request["flags"]) == ({"parse": []}, 4 | 4096)
        assert len(harness.stage.world.webhooks) == 1
        assert len(harness.stage.calls("GET /channels/*/webhooks")) == 1

    run_with_sinks(
        scenario, world=guild({"name": "general", "threads": ["a-thread"]}), settings=NO_LIMITS
    )


def test_sprites_wear_their_faces_and_the_persona_is_the_bot() -> None:
    async def scenario(harness: SinkHarness) -> None:
        script = "Hello.\nTomori (mad): Go away!\nTomori (sad): Please stay.\n"
        await harness.play("general", script, text={"persona": TOMORI})
        told = harness.messages("general")
        assert [(m.content, bool(m.webhook_id)) for m in told] == [
            ("Hello.", False),
            ("Go away!", True),
            ("Please stay.", True),
        ]
        assert [m.avatar for m in told[1:]] == [s.avatar_url for s in TOMORI.sprites]
        assert told[1].username != told[2].username

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_forbidden_names_are_made_acceptable() -> None:
    async def scenario(harness: SinkHarness) -> None:
        persona = Persona("Clyde of Discord", is_alter=True, avatar_url="ftp://nowhere")
        await harness.play("general", "one\n", text={"persona": persona})
        (told,) = harness.messages("general")
        assert told.content == "one"
        assert told.webhook_id is not None
        assert told.avatar is None

    run_with_sinks(scenario, settings=NO_LIMITS)


@pytest.mark.parametrize("persona", [None, AKI], ids=["bot", "webhook"])
def test_long_code_arrives_whole(persona: Persona | None) -> None:
    lines = [f"    value_{number} = {number}" for number in range(300)]
    code = "\n".join(lines)

    async def scenario(harness: SinkHarness) -> None:
        await harness.play("general", f"```py\n{code}\n```\n", text={"persona": persona})
        told = harness.contents("general")
        assert len(told) == 3
        inside = [text.removeprefix("```py\n").removesuffix("\n```") for text in told]
        assert "\n".join(inside) == code

    run_with_sinks(scenario, settings=NO_LIMITS)


@pytest.mark.parametrize("persona", [None, AKI], ids=["bot", "webhook"])
def test_live_mode_grows_one_message(persona: Persona | None) -> None:
    async def scenario(harness: SinkHarness) -> None:
        steps: list[str | Step] = ["one\n", Silence(1500), "two\n", Silence(1500), "three\n"]
        await harness.play("general", *steps, delivery="live", text={"persona": persona})
        assert harness.contents("general") == ["one\ntwo\nthree"]
        edits = harness.stage.calls(EDIT if persona is None else "PATCH /webhooks/*/*/messages/*")
        assert edits
        for edit in edits:
            assert edit.body["allowed_mentions"] == {"parse": [], "users": [], "roles": []}

    run_with_sinks(scenario, settings=NO_LIMITS)


@pytest.mark.parametrize("persona", [None, AKI], ids=["bot", "webhook"])
def test_live_mode_shows_what_is_not_finished(persona: Persona | None) -> None:
    async def scenario(harness: SinkHarness) -> None:
        begin = "Once upon a time there was a "
        text = {"persona": persona}
        steps: list[str | Step] = [begin, Silence(1500), "little ", Silence(1500), "fox."]
        await harness.play("general", *steps, delivery="live", text=text)
        assert harness.contents("general") == [f"{begin}little fox."]
        edits = harness.stage.calls(EDIT if persona is None else "PATCH /webhooks/*/*/messages/*")
        assert [edit.body["content"] for edit in edits] == [f"{begin}little", f"{begin}little fox."]
        steps = ["Another line begins right here ", Silence(1500), FollowUp("77")]
        result = await harness.play("general", *steps, delivery="live", text=text)
        assert result.status == "follow_up_interrupt"
        assert harness.contents("general") == [f"{begin}little fox."]

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_live_message_that_was_deleted_goes_on_in_a_new_one() -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="code", code=10008, route=EDIT))
        await harness.play(
            "general", "one\n", Silence(1500), "two\n", Silence(1500), delivery="live"
        )
        assert harness.contents("general") == ["one", "two"]

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_quiet_messages_and_hidden_previews() -> None:
    async def scenario(harness: SinkHarness) -> None:
        await harness.play("general", "one\ntwo\n", notify="first", suppress_embeds=True)
        assert [m.flags for m in harness.messages("general")] == [4, 4 | 4096]

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_no_webhook_in_a_dm_so_the_bot_says_the_name() -> None:
    async def scenario(harness: SinkHarness) -> None:
        result = await harness.play(
            await place(harness, "@mika"), "one\ntwo\n", text={"persona": AKI}
        )
        assert result.status == "completed"
        assert texts(harness, "@mika") == ["**Aki**: one", "two"]

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_fifteen_webhooks_are_used_up_so_the_bot_says_the_name() -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="code", code=30007, route="POST /channels/*/webhooks"))
        for _ in range(2):
            await harness.play("general", "one\n", text={"persona": AKI})
        assert harness.contents("general") == ["**Aki**: one"] * 2
        assert (
            len(harness.stage.calls("* /channels/*/webhooks")) == 2
        )  # asked once, then remembered

    run_with_sinks(scenario, settings=NO_LIMITS)


@pytest.mark.parametrize("after", [False, True])
def test_creating_a_webhook_fails_without_leaving_two(after: bool) -> None:
    async def scenario(harness: SinkHarness) -> None:
        fault = Fault(kind="reset", route="POST /channels/*/webhooks", after=after)
        harness.stage.fault(fault)
        await harness.play("general", "one\n", text={"persona": AKI})
        assert harness.contents("general") == ["one"]
        assert len(harness.stage.world.webhooks) == 1

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_gateway_drops_in_mid_stream() -> None:
    async def scenario(harness: SinkHarness) -> None:
        async def drop() -> None:
            await harness.stage.wait_for(lambda: harness.contents("general"))
            harness.stage.gateway.drop()

        cut = asyncio.create_task(drop())
        steps: list[str | Step] = [
            step for text in ("one", "two", "three") for step in (f"{text}\n", Silence(1000))
        ]
        result = await harness.play("general", *steps, text={"persona": AKI})
        await cut
        assert (result.status, harness.contents("general")) == (
            "completed",
            ["one", "two", "three"],
        )

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_history_that_cannot_be_read_makes_a_webhook_message_uncertain() -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="reset", route="POST /webhooks/*/*", after=True))
        result = await harness.play(
            "general", "one\n", Silence(9000), "two\n", text={"persona": AKI}
        )
        assert [e.fate for e in result.ledger.entries] == ["uncertain", "delivered"]
        assert harness.contents("general") == ["one", "two"]

    bot = {"permissions": ["view_channel", "send_messages", "manage_webhooks"]}
    denied = {"role": "@everyone", "deny": ["read_message_history"]}
    world = guild({"name": "general", "overwrites": [denied]}) | {"bot": bot}
    intents = discord.Intents(guilds=True)  # so that no event tells of it either
    run_with_sinks(scenario, world=world, settings=NO_LIMITS, intents=intents)


def test_equal_messages_are_not_taken_for_each_other() -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="reset", route="POST /webhooks/*/*", call=2))
        steps: list[str | Step] = ["yes\n", Silence(1500), "yes\n", Silence(1500), "yes\n"]
        await harness.play("general", *steps, text={"persona": AKI})
        assert harness.contents("general") == ["yes"] * 3

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_equal_messages_of_two_responses_are_not_taken_for_each_other() -> None:
    async def scenario(harness: SinkHarness) -> None:
        await harness.play("general", "yes\n", text={"persona": AKI})
        harness.stage.fault(Fault(kind="reset", route="POST /webhooks/*/*"))
        await harness.play("general", "yes\n", text={"persona": AKI})
        assert harness.contents("general") == ["yes"] * 2

    run_with_sinks(scenario, settings=NO_LIMITS)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("wait_s", [0.2, 600.0])
def test_looking_too_often_is_no_reason_to_give_up(after: bool, wait_s: float) -> None:
    """A history that is rate limited can be read later."""

    async def scenario(harness: SinkHarness) -> None:
        history = "GET /channels/*/messages"
        harness.stage.fault(Fault(kind="code", code=20028, retry_after_s=wait_s, route=history))
        harness.stage.fault(Fault(kind="reset", route="POST /webhooks/*/*", after=after))
        result = await harness.play("general", "one\n", text={"persona": AKI})
        assert [e.fate for e in result.ledger.entries] == ["delivered"]
        assert harness.contents("general") == ["one"]

    intents = discord.Intents(guilds=True, message_content=True)
    run_with_sinks(scenario, settings=NO_LIMITS, intents=intents)


def test_hidden_messages_are_no_witnesses() -> None:
    """Without the message content intent nobody can say which message it is that arrived."""

    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="reset", route="POST /webhooks/*/*", after=True))
        result = await harness.play("general", "one\n", text={"persona": AKI})
        assert [e.fate for e in result.ledger.entries] == ["uncertain"]
        assert harness.contents("general") == ["one"]

    intents = discord.Intents.default()
    world = guild("general") | {"bot": {"intents": []}}
    run_with_sinks(scenario, world=world, settings=NO_LIMITS, intents=intents)


def test_archived_thread_is_woken_once() -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="code", code=50083, route=SEND))
        await harness.play("a-thread", "one\ntwo\n")
        assert harness.contents("a-thread") == ["one", "two"]
        (wake,) = harness.stage.calls("PATCH /channels/*")
        assert wake.body == {"archived": False}

    run_with_sinks(
        scenario, world=guild({"name": "general", "threads": ["a-thread"]}), settings=NO_LIMITS
    )


def test_messages_that_had_to_wait_are_joined_and_still_there_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()  # here they may be joined

    async def scenario(harness: SinkHarness) -> None:
        lines = [f"line {number}" for number in range(10)]
        harness.stage.fault(
            Fault(kind="status", status=503, route=SEND, call=2, times=2, after=True)
        )
        result = await harness.play("general", "\n".join(lines))
        told = harness.contents("general")
        assert result.status == "completed"
        assert "\n".join(told).splitlines() == lines
        assert len(told) < len(lines)

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_three_refusals_break_the_circuit() -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="code", code=50013, route=SEND, times=None))
        results = [await harness.play("general", "one\n") for _ in range(5)]
        assert {r.stop_reason for r in results} == {"channel_unavailable"}
        assert {r.undelivered for r in results} == {"one"}
        assert len(harness.stage.calls(SEND)) == 3
        await harness.play("random", "elsewhere\n")
        assert len(harness.stage.calls(SEND)) == 4

    run_with_sinks(scenario, settings=NO_LIMITS)


@pytest.mark.parametrize("persona", [None, AKI], ids=["bot", "webhook"])
def test_stop_withdraws_a_message_that_waits_for_a_rate_limit(persona: Persona | None) -> None:
    """A bucket of five is free again after 50 seconds here, a webhook's after 20."""

    async def scenario(harness: SinkHarness) -> None:
        stops = StopRegistry()
        lines = [f"line {number}\n```\n{number}\n```\n" for number in range(6)]
        steps: list[str | Step] = [*lines, Silence(500), Stop("77")]
        result = await harness.play("general", *steps, stops=stops, text={"persona": persona})
        assert (result.status, result.stop_reason) == ("stopped_by_user", "user_request")
        assert len(harness.contents("general")) == 5
        assert result.metrics.duration_ms < 19_000
        await asyncio.sleep(60)
        assert len(harness.contents("general")) == 5

    run_with_sinks(scenario, settings=LONG_WINDOW, speed=40.0)


@pytest.mark.usefixtures("buckets_are_known")
@pytest.mark.parametrize(
    ("degree", "persona"), [(2, None), (3, None), (2, AKI)], ids=["2", "3", "webhook"]
)
def test_eight_paced_lines_are_eight_messages(degree: int, persona: Persona | None) -> None:
    lines = [f"line {number} of eight" for number in range(8)]

    async def scenario(harness: SinkHarness) -> None:
        steps = [step for line in lines for step in (f"{line}\n", Silence(125))]
        await harness.play("general", *steps, degree=degree, text={"persona": persona}, **TYPED)
        assert harness.contents("general") == lines
        requests = [*harness.stage.calls(SEND), *harness.stage.calls(WEBHOOK)]
        requests += harness.stage.calls(TYPING)
        assert [request for request in requests if request.status == 429] == []

    run_with_sinks(scenario, settings=Settings(), speed=10)


@pytest.mark.usefixtures("buckets_are_known")
@pytest.mark.parametrize(("joins", "messages"), [(True, 5), (False, 8)])
def test_at_degree_1_lines_beyond_the_bucket_are_joined_or_wait(joins: bool, messages: int) -> None:
    lines = [f"line {number} of eight" for number in range(8)]

    async def scenario(harness: SinkHarness) -> None:
        text = "\n".join(lines)
        await harness.play("general", text, degree=1, join_when_blocked=joins)
        told = harness.contents("general")
        assert len(told) == messages
        assert "\n".join(told) == text

    run_with_sinks(scenario, settings=Settings(), speed=10)


def test_stop_withdraws_a_reply_notice_that_waits_for_a_rate_limit() -> None:
    async def scenario(harness: SinkHarness) -> None:
        stops = StopRegistry()
        asked = await harness.asked("general", "hello?")
        await harness.play("general", "a\nb\nc\nd\ne\n", text={"persona": AKI})
        steps: list[str | Step] = ["one\ntwo\n", Silence(400), Stop("77")]
        result = await harness.play(
            "general", *steps, answering=asked, stops=stops, text={"persona": AKI}
        )
        assert (result.status, result.undelivered) == ("stopped_by_user", "one\ntwo")
        await asyncio.sleep(40)
        assert harness.contents("general") == ["a", "b", "c", "d", "e"]

    run_with_sinks(scenario, settings=LONG_WINDOW, speed=40.0)


@pytest.mark.parametrize("persona", [None, AKI], ids=["bot", "webhook"])
def test_stop_withdraws_an_edit_that_waits_for_a_rate_limit(persona: Persona | None) -> None:
    """What it was to say is said by the closing edit, the only one that leaves."""

    async def scenario(harness: SinkHarness) -> None:
        stops = StopRegistry()
        route = EDIT if persona is None else "PATCH /webhooks/*/*/messages/*"
        fault = Fault(kind="status", status=429, retry_after_s=60.0, route=route)
        harness.stage.fault(fault)
        steps: list[str | Step] = ["one\ntwo\nthree\n", Silence(18_000), Stop("77")]
        result = await harness.play(
            "general", *steps, stops=stops, delivery="live", text={"persona": persona}
        )
        assert (result.status, result.undelivered) == ("stopped_by_user", "")
        assert harness.contents("general") == ["one\ntwo\nthree"]
        assert result.metrics.duration_ms < 50_000
        await asyncio.sleep(60)
        assert [call.status for call in harness.stage.calls(route)] == [429, 200]

    run_with_sinks(scenario, settings=NO_LIMITS, speed=40.0)


def test_revoked_token_ends_the_stream_and_nothing_is_uncertain(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="status", status=401, route=SEND, call=2, times=None))
        result = await harness.play("general", "one\ntwo\nthree\n")
        assert (result.status, result.stop_reason) == ("stopped_by_user", "channel_unavailable")
        assert [e.fate for e in result.ledger.entries] == [
            "delivered",
            "channel_unavailable",
            "channel_unavailable",
        ]
        assert len(harness.stage.calls(SEND)) == 2

    run_with_sinks(scenario, settings=NO_LIMITS)
    (told,) = [record for record in caplog.records if record.name.startswith("oshaberi")]
    assert "does not accept the bot's token" in told.getMessage()


def test_revoked_token_is_not_taken_for_a_missing_webhook() -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="status", status=401, route="* /channels/*", times=None))
        result = await harness.play("general", "one\n", text={"persona": AKI})
        assert (result.stop_reason, result.undelivered) == ("channel_unavailable", "one")
        assert harness.stage.calls(SEND) == []

    run_with_sinks(scenario, settings=NO_LIMITS)
