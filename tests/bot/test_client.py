"""The client: what it hears, once; what it missed; how it fails to start."""

from __future__ import annotations

import asyncio
import gc
import logging
import warnings
from datetime import timedelta
from typing import Any

import pytest

from discord_stage import Fault, Stage
from discord_stage.scaled_loop import run_scaled
from discord_stage.testing import logged_in, staged
from oshaberi.bot.client import discord_client, unanswered
from oshaberi.bot.client.discord_client import OshaberiClient, intents
from oshaberi.bot.client.message_reader import MessageReader
from oshaberi.bot.commands import bot_command_tree
from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.records import PersonaRecord, TurnRecord
from oshaberi.errors import ConfigError, OshaberiError
from tests.bot.client_harness import (
    FAST,
    MEMBER,
    OWNER,
    SPEED,
    ClientHarness,
    context_of,
    run_with_client,
    world,
)


def test_a_message_that_is_told_twice_is_heard_once() -> None:
    async def scenario(harness: ClientHarness) -> None:
        posted = harness.stage.people.post("general", "hello", user=MEMBER)
        await harness.heard(1)
        message = await harness.channel().fetch_message(posted.id)
        await harness.client.on_message(message)
        harness.stage.people.post("general", "again", user=MEMBER)
        assert [one.said.text for one in await harness.heard(2)] == ["hello", "again"]

    run_with_client(scenario)


def test_system_messages_are_not_handed_on() -> None:
    async def scenario(harness: ClientHarness) -> None:
        start = harness.stage.people.post("general", "about what", user=MEMBER)
        message = await harness.channel().fetch_message(start.id)
        await message.create_thread(name="about it")
        harness.stage.people.post("general", "end", user=MEMBER)
        assert [one.said.text for one in await harness.heard(2)] == ["about what", "end"]

    run_with_client(scenario)


def test_the_client_pings_nobody_and_asks_for_no_more_than_it_needs() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await harness.channel().send(f"<@{harness.stage.world.user(MEMBER).id}> @everyone")
        (sent,) = harness.stage.world.history("general")
        assert (sent.mentions, sent.mention_everyone) == ([], False)
        assert harness.client.intents == intents()

    run_with_client(scenario)
    assert not intents().members
    assert not intents().presences
    assert intents(members=True).members


def test_a_room_is_found_by_its_id() -> None:
    async def scenario(harness: ClientHarness) -> None:
        found = await harness.client.find_turn_channel(harness.id_of("general"))
        assert found is not None
        assert found.channel_id == harness.id_of("general")
        harness.stage.people.dm("hi", user=MEMBER)
        direct = await harness.client.find_turn_channel(harness.id_of(f"@{MEMBER}"))
        assert direct is not None
        assert direct.server_id == 0
        assert await harness.client.find_turn_channel(12345) is None

    run_with_client(scenario)


# -- what was missed -------------------------------------------------------------------------------


async def _missed(stage: Stage, **more: Any) -> list[str]:
    """What a bot that starts now hands on."""
    async with context_of(more.get("own")) as (context, channel_turns):
        if asked := more.get("turn_of"):
            place = stage.world.channel("general")
            turn = TurnRecord(place.id, place.guild_id or 0, 1, asked, "Mochi")
            await context.db.turns.remember(turn)
        for place in more.get("talked_in", ()):
            await context.db.turns.remember(TurnRecord(place, 0, 1, 1, "Mochi"))
        if persona := more.get("persona"):
            await context.db.personas.save(persona)
        if seen := more.get("seen"):
            await context.db.seen.note(stage.world.channel("general").id, seen)
        ready = asyncio.Event()
        order: list[int] = []

        async def when_ready() -> None:
            order.append(len(channel_turns.heard))
            ready.set()

        options = more.get("client", {})
        client = OshaberiClient(
            context, bot_command_tree, guild_ready_timeout=0.1, when_ready=when_ready, **options
        )
        async with logged_in(stage, client):
            await ready.wait()
            await client.look_back()  # after the one that is under way
            await stage.settled()
            assert order == [0]
            return [incoming.said.text for incoming, _turn_channel in channel_turns.heard]


def on_empty_stage(scenario: Any, speed: float = SPEED) -> None:
    async def main() -> None:
        async with staged(world("general", "quiet")) as stage:
            await scenario(stage)

    run_scaled(main(), speed)


def test_an_outage_of_the_database_at_the_start_only_delays_what_is_taken_up() -> None:
    async def scenario(stage: Stage) -> None:
        tries: list[str] = []
        done = asyncio.Event()

        def fails_twice(what: str) -> None:
            tries.append(what)
            if tries.count(what) < 3:
                raise StorageAwayError("no answer within 1.5 s")

        async def when_ready() -> None:
            fails_twice("ready")

        async def take_up() -> None:
            fails_twice("questions")
            done.set()

        async with context_of() as (context, _channel_turns):
            client = OshaberiClient(
                context,
                bot_command_tree,
                guild_ready_timeout=0.1,
                when_ready=when_ready,
                take_up=take_up,
            )
            async with logged_in(stage, client):
                await done.wait()
        assert tries == ["ready"] * 3 + ["questions"] * 3

    on_empty_stage(scenario, speed=50.0)


def test_what_was_said_to_the_bot_while_it_was_away_is_answered() -> None:
    async def scenario(stage: Stage) -> None:
        mention = f"<@{stage.world.bot.id}>"
        stage.people.post("general", "nobody is asked", user=MEMBER)
        for number in range(5):
            stage.people.post("general", f"{mention} {number}", user=MEMBER)
        missed = await _missed(stage)
        assert missed == [f"@Oshaberi {number}" for number in range(5)]
        quiet = stage.world.channel("quiet").id
        assert stage.calls(f"GET /channels/{quiet}/messages") == []

    on_empty_stage(scenario)


HISTORY = "GET /channels/*/messages"


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="reset", route=HISTORY, times=2),
        Fault(kind="reset", route=HISTORY, times=12),
        Fault(kind="hang", route=HISTORY),
    ],
    ids=lambda fault: f"{fault.kind} x {fault.times}",
)
@pytest.mark.parametrize("is_direct", [False, True])
def test_a_channel_that_cannot_be_read_is_read_again(
    fault: Fault, is_direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the meantime the bot hears other things there: what it missed is older than these."""
    if fault.times != 2:
        monkeypatch.setattr(unanswered, "LAST_PAUSE_SECONDS", 0.5)
        monkeypatch.setattr(unanswered, "FIRST_PAUSE_SECONDS", 0.5)

    async def scenario(stage: Stage) -> None:
        stage.fault(fault)
        if is_direct:
            asked = stage.people.dm("are you there?", user=MEMBER)
            expected, talked_in = "are you there?", [asked.channel_id]
        else:
            stage.people.post("general", f"<@{stage.world.bot.id}> hi", user=MEMBER)
            expected, talked_in = "@Oshaberi hi", []
        async with context_of() as (context, channel_turns):
            for place in talked_in:
                await context.db.turns.remember(TurnRecord(place, 0, 1, 1, "Mochi"))
            client = OshaberiClient(context, bot_command_tree, guild_ready_timeout=0.1)
            async with logged_in(stage, client):
                await stage.wait_for(lambda: stage.faults.struck(fault))
                if not is_direct:
                    later = stage.people.post("general", "nobody is asked", user=MEMBER)
                    await context.db.seen.note(later.channel_id, later.id)
                heard = channel_turns.heard
                await stage.wait_for(lambda: expected in [one.said.text for one, _ in heard])
                await stage.settled()
                assert [one.said.text for one, _ in heard].count(expected) == 1

    on_empty_stage(scenario)


def test_what_was_heard_while_a_channel_could_not_be_read_is_not_heard_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not even if so much was said since that nobody remembers having heard it."""
    monkeypatch.setattr(unanswered, "FIRST_PAUSE_SECONDS", 0.5)
    monkeypatch.setattr(discord_client, "KEPT_IDS", 1)

    async def scenario(stage: Stage) -> None:
        fault = stage.fault(Fault(kind="reset", route=HISTORY, times=2))
        named = f"<@{stage.world.bot.id}>"
        stage.people.post("general", f"{named} missed", user=MEMBER)
        async with context_of() as (context, channel_turns):
            client = OshaberiClient(context, bot_command_tree, guild_ready_timeout=0.1)
            async with logged_in(stage, client):
                heard = channel_turns.heard
                await stage.wait_for(lambda: stage.faults.struck(fault))
                stage.people.post("general", f"{named} heard", user=MEMBER)
                await stage.wait_for(lambda: len(heard) == 1)
                stage.people.post("quiet", f"{named} and forgotten", user=MEMBER)
                await stage.wait_for(lambda: len(heard) >= 3)
                await stage.settled()
                texts = sorted(one.said.text for one, _ in heard)
                assert texts == ["@Oshaberi and forgotten", "@Oshaberi heard", "@Oshaberi missed"]

    on_empty_stage(scenario)


@pytest.mark.parametrize("patience_s", [0, 2])
def test_a_channel_that_stays_unread_is_logged(
    patience_s: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(unanswered, "FIRST_PAUSE_SECONDS", 0.5)

    async def scenario(stage: Stage) -> None:
        stage.fault(Fault(kind="reset", route=HISTORY, times=None))
        stage.people.post("general", f"<@{stage.world.bot.id}> hi", user=MEMBER)
        own = LoadedSettings(discord_outage_patience_s=patience_s)
        async with context_of(own) as (context, _channel_turns):
            client = OshaberiClient(context, bot_command_tree, guild_ready_timeout=0.1)
            async with logged_in(stage, client):
                await stage.wait_for(lambda: "stays unread" in caplog.text)

    on_empty_stage(scenario)


def test_a_channel_that_may_not_be_read_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unanswered, "FIRST_PAUSE_SECONDS", 0.5)

    async def scenario(stage: Stage) -> None:
        refused = stage.fault(Fault(kind="code", code=50001, route=HISTORY, times=None))
        stage.people.post("general", f"<@{stage.world.bot.id}> hi", user=MEMBER)
        async with context_of() as (context, channel_turns):
            client = OshaberiClient(context, bot_command_tree, guild_ready_timeout=0.1)
            async with logged_in(stage, client):
                await stage.wait_for(lambda: stage.faults.struck(refused))
                await asyncio.sleep(4 * unanswered.FIRST_PAUSE_SECONDS)
            assert channel_turns.heard == []
        assert stage.faults.struck(refused) == 1

    on_empty_stage(scenario)


def test_in_a_busy_channel_the_newest_messages_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unanswered, "MOST_MESSAGES", 120)

    async def scenario(stage: Stage) -> None:
        mention = f"<@{stage.world.bot.id}>"
        for number in range(150):
            text = f"{mention} {number}" if number % 40 == 20 else f"chatter {number}"
            stage.people.post("general", text, user=MEMBER)
        assert await _missed(stage) == ["@Oshaberi 60", "@Oshaberi 100", "@Oshaberi 140"]

    on_empty_stage(scenario)


def test_every_channel_is_looked_at() -> None:
    names = [f"c{number}" for number in range(70)]

    async def main() -> None:
        async with staged(world(*names)) as stage:
            for name in names:
                stage.people.post(name, f"<@{stage.world.bot.id}> in {name}", user=MEMBER)
            found = await _missed(stage)
            assert sorted(found) == sorted(f"@Oshaberi in {name}" for name in names)

    run_scaled(main(), SPEED)


def test_what_is_too_old_is_left_alone() -> None:
    async def scenario(stage: Stage) -> None:
        stage.people.post("general", f"<@{stage.world.bot.id}> hi", user=MEMBER)
        assert await _missed(stage, own=LoadedSettings(max_question_age_s=0)) == []

    on_empty_stage(scenario)


def test_a_search_that_ends_before_it_reads_a_channel_leaves_nothing_behind() -> None:
    """As when the client is closed, or the database goes away, while it looks for direct ones."""

    async def scenario(harness: ClientHarness) -> None:
        harness.stage.people.post("general", "hello", user=MEMBER)
        await harness.heard(1)

        async def away() -> tuple[int, ...]:
            raise StorageAwayError("away")

        async def nothing(*_: object) -> Any:
            raise AssertionError("no channel is read")

        search = unanswered.MissedMessages(
            harness.client.reader, nothing, nothing, nothing, away, timedelta(days=1), nothing
        )
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            with pytest.raises(StorageAwayError):
                await search.run()
            gc.collect()
        assert [str(one.message) for one in noted if "never awaited" in str(one.message)] == []

    run_with_client(scenario)


def test_a_trigger_word_was_missed_too() -> None:
    async def scenario(stage: Stage) -> None:
        server_id = next(iter(stage.world.guilds))
        kuro = PersonaRecord(server_id, "Kuro", triggers=("kuro",))
        for text in ("kuro, are you there?", "is anybody there?"):
            stage.people.post("general", text, user=MEMBER)
        assert await _missed(stage, persona=kuro) == ["kuro, are you there?"]

    on_empty_stage(scenario)


@pytest.mark.parametrize("known", ["seen", "turn_of"])
def test_what_was_taken_care_of_is_not_answered_again(known: str) -> None:
    async def scenario(stage: Stage) -> None:
        mention = f"<@{stage.world.bot.id}>"
        first = stage.people.post("general", f"{mention} first", user=MEMBER)
        assert await _missed(stage, **{known: first.id}) == []
        stage.people.post("general", f"{mention} second", user=MEMBER)
        assert await _missed(stage, **{known: first.id}) == ["@Oshaberi second"]

    on_empty_stage(scenario)


def test_direct_messages_of_people_who_wrote_before_are_found() -> None:
    async def scenario(stage: Stage) -> None:
        places = [stage.people.dm(f"I am {user}", user=user).channel_id for user in (MEMBER, OWNER)]
        gone = 12345
        missed = await _missed(stage, talked_in=[*places, gone])
        assert sorted(missed) == ["I am mika", "I am ren"]  # channels are read at once
        assert await _missed(stage, talked_in=places[:1]) == ["I am ren"]
        other = {"shard_ids": [1], "shard_count": 2}
        assert await _missed(stage, talked_in=places, client=other) == []

    on_empty_stage(scenario)


def test_what_has_an_answer_needs_no_other() -> None:
    async def scenario(harness: ClientHarness) -> None:
        asked = harness.stage.people.post(
            "general", f"<@{harness.stage.world.bot.id}> hi", user=OWNER
        )
        await harness.heard(1)
        message = await harness.channel().fetch_message(asked.id)
        await message.reply("hi")
        await harness.stage.settled()
        assert await _missed(harness.stage) == []

    run_with_client(scenario)


# -- starting and failing --------------------------------------------------------------------------


def _starting(
    token: str | None, described: dict[str, object], *faults: Fault
) -> tuple[OshaberiError, str]:
    """What it fails with, and where the stage was."""

    async def main() -> tuple[OshaberiError, str]:
        async with context_of() as (context, _talks), staged(described) as stage:
            for fault in faults:
                stage.fault(fault)
            client = OshaberiClient(context, bot_command_tree, guild_ready_timeout=0.1)
            async with client:
                with pytest.raises(OshaberiError) as failed:
                    await client.serve(token or stage.token)
            return failed.value, stage.url.removeprefix("http://")

    return run_scaled(main(), SPEED)


def test_what_is_looked_for_at_the_start_is_given_up_at_the_end() -> None:
    ends: list[str] = []
    begun = asyncio.Event()

    async def long() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("given up")

    async def main() -> None:
        async with context_of() as (context, _talks), staged(world(), FAST) as stage:
            bot = OshaberiClient(
                context, bot_command_tree, guild_ready_timeout=0.1, when_ready=long
            )
            async with logged_in(stage, bot):
                await begun.wait()
                assert ends == []
            assert ends == ["given up"]

    run_scaled(main(), SPEED)


def test_a_client_that_never_began_can_be_closed() -> None:
    async def main() -> None:
        async with context_of() as (context, _talks):
            await OshaberiClient(context, bot_command_tree).close()

    asyncio.run(main())


def test_a_client_that_is_closed_closes_its_own_connections() -> None:
    """Those to webhooks are not discord.py's."""
    closed: list[str] = []

    async def main() -> None:
        async with context_of() as (context, _talks), staged(world(), FAST) as stage:
            bot = OshaberiClient(context, bot_command_tree, guild_ready_timeout=0.1)
            async with logged_in(stage, bot):
                state = bot.client_state
                close = state.close

                async def noted() -> None:
                    closed.append("closed")
                    await close()

                state.close = noted  # type: ignore[method-assign]

    run_scaled(main(), SPEED)
    assert closed == ["closed"]


def test_a_wrong_token_is_told_in_one_line() -> None:
    error, _place = _starting("wrong.token.here", world())
    told = str(error)
    assert isinstance(error, ConfigError)
    assert told.startswith("discord_token: Discord does not accept it")
    assert "wrong.token" not in told
    assert "\n" not in told


def test_a_missing_intent_is_told_in_one_line() -> None:
    error, _place = _starting(None, world() | {"bot": {"intents": []}})
    assert isinstance(error, ConfigError)
    assert "Message Content Intent" in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault(kind="close", times=None), "Server disconnected"),
        (Fault(kind="status", status=503, times=None), "answers HTTP 503"),
    ],
)
def test_discord_that_is_not_there_is_told_in_one_line(fault: Fault, reason: str) -> None:
    error, place = _starting(None, world(), fault)
    assert str(error).startswith("Discord ")
    assert place in str(error)
    assert reason in str(error)
    assert "\n" not in str(error)


def test_without_its_commands_the_bot_still_talks(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with context_of() as (context, channel_turns), staged(world()) as stage:
            route = "PUT /applications/*/commands"
            stage.fault(Fault(kind="status", route=route, status=403, code=50001))
            client = OshaberiClient(context, bot_command_tree, guild_ready_timeout=0.1)
            async with logged_in(stage, client):
                stage.people.post("general", "hello", user=MEMBER)
                await stage.wait_for(lambda: channel_turns.heard)

    run_scaled(main(), SPEED)
    assert "the commands could not be registered" in caplog.text


def test_an_error_of_an_event_is_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_given: Any) -> Any:
        raise ConfigError("something is not set")

    monkeypatch.setattr(MessageReader, "incoming", broken)

    async def scenario(harness: ClientHarness) -> None:
        harness.stage.people.post("general", "hello", user=MEMBER)
        await harness.stage.wait_for(lambda: "something is not set" in caplog.text)

    run_with_client(scenario)
    (record,) = [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert record.getMessage() == "on_message: something is not set"
    assert not record.exc_info


def test_leaving_a_server_stops_what_runs_there() -> None:
    async def scenario(harness: ClientHarness) -> None:
        stops = harness.client.context.services.stops
        key = str(harness.id_of("general"))
        with stops.active(key, "1") as entry, stops.active("77", "1") as other:
            await harness.client.on_guild_remove(harness.channel().guild)
            assert entry.pending is not None
            assert entry.pending.reason == "system_request"
            assert other.pending is None

    run_with_client(scenario)
