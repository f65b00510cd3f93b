"""What a new process does with the journal of an earlier one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from discord_stage import WEBHOOK, Fault
from oshaberi.bot.client.turn_channel import DiscordTurnChannel
from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.config.current_settings import CurrentSettings
from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.conversation.turn_config import EffectiveSettings
from oshaberi.bot.coordination.message_claims import InstanceLease, SingleProcess
from oshaberi.bot.recovery.crash_recovery import (
    GO_ON,
    IN_DOUBT,
    INTERRUPTED,
    TITLE,
    CrashRecovery,
)
from oshaberi.bot.recovery.orphaned_journals import (
    LOOKS_MISSING,
    LOOKS_SILENT,
    OrphanedJournals,
)
from oshaberi.bot.recovery.question_recovery import QuestionRecovery
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.records import (
    JournalledPost,
    JournalledStream,
    StoredQuestion,
    TurnRecord,
    TurnTraces,
)
from oshaberi.bot.turns.services.model_access import OperatorChoices
from oshaberi.bot.turns.services.turn_services import nobody_else
from oshaberi.delivery.attachments import DeliveryPlugIns
from oshaberi.delivery.journal import JournalledSink, post_as_body
from oshaberi.delivery.sink import Post, WebhookFace, WireState
from tests.bot.client_harness import MEMBER, ClientHarness, run_with_client, world

INSTANCE, KEY = "main", "abcdef"
POST = Post(f"{KEY}-1", "first line")


async def begun(harness: ClientHarness, *posts: Post) -> JournalledStream:
    """A crash in the middle of an answer: these were about to be sent."""
    asked = harness.stage.people.post("general", "hello", user=MEMBER)
    place = harness.stage.world.channel("general")
    stream = JournalledStream(
        key=KEY,
        instance=INSTANCE,
        server_id=harness.server_id,
        channel_id=place.id,
        user_id=asked.author_id,
        answering_id=asked.id,
        persona="Mochi",
        began=datetime.now(UTC),
    )
    await harness.db.journal.begin(stream)
    for number, post in enumerate(posts, 1):
        entry = JournalledPost(post.nonce, number, post_as_body(post), newest_id=asked.id)
        await harness.db.journal.intend(KEY, entry)
    return stream


def recovery(harness: ClientHarness, shared: SingleProcess | None = None) -> CrashRecovery:
    alone = nobody_else if shared is None else shared.alone
    return CrashRecovery(harness.db, INSTANCE, harness.client.find_turn_channel, alone)


def told(harness: ClientHarness) -> list[str]:
    """What the bot has said, notices by their title."""
    bot = harness.stage.world.bot.id
    ours = [one for one in harness.stage.world.history("general") if one.author_id == bot]
    return [one.content or str(one.embeds[0]["title"]) for one in ours]


async def left(harness: ClientHarness) -> int:
    return len(await harness.db.journal.unfinished(INSTANCE))


async def kept(harness: ClientHarness, stream: JournalledStream) -> None:
    """The question of the stream, as an earlier process stored it."""
    assert stream.answering_id is not None
    place = stream.channel_id, stream.answering_id, stream.server_id, stream.user_id
    mine, harness.db.questions._process = harness.db.questions._process, "earlier"
    await harness.db.questions.keep(StoredQuestion(*place, INSTANCE, "mention"))
    harness.db.questions._process = mine


async def taken_up(harness: ClientHarness) -> int:
    """How many questions the new process answers, after the journal is settled."""
    before = len(harness.channel_turns.heard)
    find = harness.client.find_turn_channel
    questions = QuestionRecovery(
        harness.db, INSTANCE, find, harness.channel_turns, timedelta(minutes=10)
    )
    await questions.run()
    return len(harness.channel_turns.heard) - before


def test_an_answer_without_a_message_is_given_anew_once() -> None:
    """Whoever saw nothing of it is not told of an interruption. But a question that ends the
    process each time must not do so for ever."""

    async def scenario(harness: ClientHarness) -> None:
        stream = await begun(harness)
        await kept(harness, stream)
        assert await recovery(harness).run() == 1
        assert told(harness) == []
        assert await left(harness) == 0
        assert await taken_up(harness) == 1

        again = replace(stream, key="abcdeg", began=datetime.now(UTC))
        await harness.db.journal.begin(again)
        assert await recovery(harness).run() == 1
        assert told(harness) == [TITLE]
        assert await taken_up(harness) == 0

    run_with_client(scenario)


def test_a_recovery_that_crashed_leaves_the_question_open() -> None:
    """The turn was stored, and the entry of the journal is still there."""

    async def scenario(harness: ClientHarness) -> None:
        stream = await begun(harness)
        await kept(harness, stream)
        await recovery(harness).run()
        await harness.db.journal.begin(stream)
        assert await recovery(harness).run() == 1
        assert told(harness) == []
        assert await taken_up(harness) == 1

    run_with_client(scenario)


def test_a_reply_notice_is_something_that_was_seen() -> None:
    """It comes before the first message, and would come twice."""

    async def scenario(harness: ClientHarness) -> None:
        stream = await begun(harness)
        await kept(harness, stream)
        sink = JournalledSink(
            harness.turn_channel().sink(None), harness.db.journal, lambda: 0, stream.key
        )
        await sink.reply_notice(WebhookFace("Kuro"), WireState(0.0))
        assert await recovery(harness).run() == 1
        assert told(harness) == [TITLE]
        assert await taken_up(harness) == 0

    run_with_client(scenario)


@pytest.mark.parametrize("arrived", [True, False])
def test_what_was_about_to_leave_is_there_once(arrived: bool) -> None:
    async def scenario(harness: ClientHarness) -> None:
        stream = await begun(harness, POST)
        if arrived:
            await (
                harness.turn_channel()
                .sink(None)
                .send(POST, WireState(asyncio.get_running_loop().time()))
            )
        assert await recovery(harness).run() == 1
        assert told(harness) == ["first line", TITLE]
        assert await left(harness) == 0
        turn = await harness.db.turns.last(stream.channel_id)
        assert turn is not None
        assert (turn.status, turn.asked_id, len(turn.message_ids)) == (
            INTERRUPTED,
            stream.answering_id,
            2,
        )
        assert await harness.db.seen.last(stream.channel_id) == stream.answering_id
        assert await recovery(harness).run() == 0

    run_with_client(scenario)


@pytest.mark.parametrize(("setting", "title"), [("ja", "回答が中断されました"), ("en", TITLE)])
def test_it_is_told_in_the_language_that_the_server_has_set(setting: str, title: str) -> None:
    async def scenario(harness: ClientHarness) -> None:
        await begun(harness, POST)
        await harness.db.servers.set_config(harness.server_id, "language", setting)
        settings = CurrentSettings(
            LoadedSettings(), {}, harness.db, OperatorChoices(), DeliveryPlugIns()
        )
        find = harness.client.find_turn_channel
        await CrashRecovery(harness.db, INSTANCE, find, language_of=settings.language_of).run()
        assert told(harness) == ["first line", title]

    run_with_client(scenario, described=world(locale="ja" if setting == "en" else "en-US"))


def test_without_a_database_it_is_told_in_the_language_of_the_server() -> None:
    class Away(CurrentSettings):
        def __init__(self) -> None:
            """Nothing is known."""

        async def of(self, path: ChannelPath) -> EffectiveSettings:
            raise StorageAwayError(f"away: {path}")

    async def main() -> str:
        return await Away().language_of(ChannelPath(1, 2), "ja")

    assert asyncio.run(main()) == "ja"


def test_a_recovery_that_crashed_itself_tells_it_once() -> None:
    async def scenario(harness: ClientHarness) -> None:
        stream = await begun(harness, POST)
        await recovery(harness).run()
        # It died before the last step, which forgets the stream.
        await harness.db.journal.begin(stream)
        assert await recovery(harness).run() == 1
        assert told(harness) == ["first line", TITLE]
        assert await left(harness) == 0

    run_with_client(scenario)


@pytest.mark.parametrize("arrived", [True, False])
def test_an_answer_that_is_to_go_on_is_completed_and_not_told(arrived: bool) -> None:
    async def scenario(harness: ClientHarness) -> None:
        stream = await begun(harness, POST)
        if arrived:
            wire = WireState(asyncio.get_running_loop().time())
            await harness.turn_channel().sink(None).send(POST, wire)
        turn = TurnRecord(
            stream.channel_id, stream.server_id, stream.user_id, stream.answering_id, "Mochi", (7,)
        )
        turn = replace(turn, status=INTERRUPTED, at=datetime.now(UTC))
        question = StoredQuestion(
            stream.channel_id, stream.answering_id or 0, stream.server_id, stream.user_id, INSTANCE
        )
        question = replace(question, is_begun=True)
        harness.db.queue_turn(TurnTraces(turn, cut_question=question))
        assert await recovery(harness).run() == 1
        assert told(harness) == ["first line"]
        assert await left(harness) == 0
        last = await harness.db.turns.last(stream.channel_id)
        assert last is not None
        (ours,) = [
            one.id for one in harness.stage.world.history("general") if one.content == "first line"
        ]
        assert (last.status, last.message_ids) == (INTERRUPTED, (7, ours))
        assert await harness.db.turns.of_message(ours) == last
        harness.db.questions._process = "next"
        assert [one.is_begun for one in await harness.db.questions.left_by(INSTANCE)] == [True]

    run_with_client(scenario)


def test_an_answer_that_was_complete_is_not_called_interrupted() -> None:
    async def scenario(harness: ClientHarness) -> None:
        stream = await begun(harness)
        turn = TurnRecord(
            stream.channel_id, stream.server_id, stream.user_id, stream.answering_id, "Mochi"
        )
        await harness.db.turns.remember(replace(turn, status="completed", at=datetime.now(UTC)))
        await recovery(harness).run()
        assert told(harness) == []
        assert await left(harness) == 0

    run_with_client(scenario)


@pytest.mark.parametrize(("persona", "is_one"), [("Mochi", True), ("Kuro", False)])
def test_an_interrupted_continuation_belongs_to_its_answer(persona: str, is_one: bool) -> None:
    async def scenario(harness: ClientHarness) -> None:
        stream = await begun(harness, POST)
        await harness.db.journal.finish(KEY)
        before = datetime.now(UTC) - timedelta(minutes=1)
        turn = TurnRecord(stream.channel_id, stream.server_id, stream.user_id, 5, persona, (6,))
        await harness.db.turns.remember(replace(turn, status="completed", at=before))
        await harness.db.journal.begin(replace(stream, answering_id=None))
        await recovery(harness).run()
        first, last = (
            await harness.db.turns.of_message(6),
            await harness.db.turns.last(stream.channel_id),
        )
        assert first is not None
        assert last is not None
        assert (last.status, last.asked_id) == (INTERRUPTED, 5 if is_one else None)
        assert (await harness.db.turns.whole(last) == (first, last)) is is_one

    run_with_client(scenario)


def test_an_earlier_answer_to_the_same_message_hides_nothing() -> None:
    async def scenario(harness: ClientHarness) -> None:
        stream = await begun(harness)
        before = datetime.now(UTC) - timedelta(minutes=1)
        turn = TurnRecord(
            stream.channel_id, stream.server_id, stream.user_id, stream.answering_id, "Mochi"
        )
        await harness.db.turns.remember(replace(turn, status="completed", at=before))
        await recovery(harness).run()
        assert told(harness) == [TITLE]

    run_with_client(scenario)


def test_a_turn_that_still_runs_elsewhere_is_left_alone() -> None:
    async def scenario(harness: ClientHarness) -> None:
        shared = SingleProcess()
        stream = await begun(harness, POST)
        async with shared.alone(f"turn:{stream.channel_id}"):
            waiting = asyncio.create_task(recovery(harness, shared).run())
            await harness.stage.settled()
            assert not waiting.done()
            assert told(harness) == []
            await harness.db.journal.finish(KEY)
        assert await waiting == 0
        assert told(harness) == []

    run_with_client(scenario)


def test_two_processes_of_one_name_tell_it_once() -> None:
    async def scenario(harness: ClientHarness) -> None:
        shared = SingleProcess()
        await begun(harness, POST)
        both = [recovery(harness, shared).run(), recovery(harness, shared).run()]
        assert sorted(await asyncio.gather(*both)) == [0, 1]
        assert told(harness) == ["first line", TITLE]

    run_with_client(scenario)


def test_what_a_name_left_that_does_not_come_back_is_settled() -> None:
    async def scenario(harness: ClientHarness) -> None:
        stream = await begun(harness, POST)
        other = CrashRecovery(harness.db, "other", harness.client.find_turn_channel)
        ready: list[bool] = []
        orphaned_journals = orphans(harness, other, lambda: bool(ready))
        await harness.db.instances.beat(INSTANCE)
        ready.append(True)
        assert await orphaned_journals.look() == 0
        await long_ago(harness, INSTANCE)
        ready.clear()
        assert await orphaned_journals.look() == 0
        ready.append(True)
        assert [await orphaned_journals.look() for _ in range(LOOKS_SILENT)] == [0, 0, 1]
        assert told(harness) == ["first line", TITLE]
        assert await left(harness) == 0
        assert await orphaned_journals.look() == 0
        turn = await harness.db.turns.last(stream.channel_id)
        assert turn is not None
        assert turn.status == INTERRUPTED

    run_with_client(scenario)


def test_who_succeeds_leaves_its_own_running_answers_alone() -> None:
    async def scenario(harness: ClientHarness) -> None:
        stream = await begun(harness, POST)
        running = replace(stream, key="mine", instance="other")
        await harness.db.journal.begin(running)
        await harness.db.instances.beat(INSTANCE)
        await long_ago(harness, INSTANCE)
        other = CrashRecovery(harness.db, "other", harness.client.find_turn_channel)
        orphaned_journals = orphans(harness, other)
        assert sum([await orphaned_journals.look() for _ in range(LOOKS_SILENT)]) == 1
        assert [one.key for one in await harness.db.journal.unfinished("other")] == ["mine"]
        assert told(harness) == ["first line", TITLE]

    run_with_client(scenario)


def test_who_is_there_is_not_succeeded_when_the_clock_is_set_forward() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await begun(harness, POST)
        other = CrashRecovery(harness.db, "other", harness.client.find_turn_channel)
        orphaned_journals = orphans(harness, other)
        await harness.db.instances.beat(INSTANCE)
        harness.db.instances._store.now = lambda: datetime.now(UTC) + timedelta(hours=1)
        assert await orphaned_journals.look() == 0
        await harness.db.instances.beat(INSTANCE)
        assert [await orphaned_journals.look() for _ in range(LOOKS_SILENT)] == [0] * LOOKS_SILENT
        assert told(harness) == []
        assert await left(harness) == 1

    run_with_client(scenario)


def orphans(
    harness: ClientHarness,
    other: CrashRecovery,
    is_ready: Callable[[], bool] = lambda: True,
    leases: Mapping[str, InstanceLease] | None = None,
) -> OrphanedJournals:
    questions = QuestionRecovery(
        harness.db,
        "other",
        harness.client.find_turn_channel,
        harness.channel_turns,
        timedelta(minutes=10),
    )
    return OrphanedJournals(harness.db, "other", other, questions, is_ready, leases or {})


class ToldLease:
    """Says what it is told to say."""

    def __init__(self, verdict: bool | None) -> None:
        self.verdict = verdict
        self.asked: list[str] = []

    async def is_gone(self, name: str) -> bool | None:
        self.asked.append(name)
        return self.verdict


def test_what_a_process_without_a_lease_left_is_settled_within_seconds() -> None:
    async def scenario(harness: ClientHarness) -> None:
        stream = await begun(harness, POST)
        asked = harness.stage.people.post(
            "logs", f"<@{harness.stage.world.bot.id}> hi", user=MEMBER
        )
        question = StoredQuestion(
            asked.channel_id, asked.id, harness.server_id, asked.author_id, INSTANCE, "mention"
        )
        await harness.db.questions.keep(question)
        harness.db.questions._process = "another"
        heard = len(await harness.heard(2))
        other = CrashRecovery(harness.db, "other", harness.client.find_turn_channel)
        redis, postgres = ToldLease(False), ToldLease(True)
        looking = orphans(harness, other, leases={"redis": redis, "postgresql": postgres})
        await harness.db.instances.beat(INSTANCE, ["redis", "postgresql"])
        assert [await looking.look_at_leases() for _ in range(5)] == [0] * 5, "it only hangs"
        redis.verdict = True
        assert [await looking.look_at_leases() for _ in range(LOOKS_MISSING)] == [0, 0, 2]
        assert told(harness) == ["first line", TITLE]
        assert await left(harness) == 0
        assert [one.said.id for one, _ in harness.channel_turns.heard[heard:]] == [asked.id]
        assert await looking.look_at_leases() == 0
        assert stream.instance == INSTANCE

    run_with_client(scenario)


@pytest.mark.parametrize(
    ("verdicts", "held", "count"),
    [
        ({"redis": None}, ["redis"], 0),
        ({"redis": None, "postgresql": True}, ["redis", "postgresql"], 1),
        ({"postgresql": True}, [], 0),
        ({"postgresql": True}, ["redis"], 0),
    ],
)
def test_only_a_lease_that_was_held_proves_something(
    verdicts: dict[str, bool | None], held: list[str], count: int
) -> None:
    async def scenario(harness: ClientHarness) -> None:
        await begun(harness, POST)
        other = CrashRecovery(harness.db, "other", harness.client.find_turn_channel)
        leases = {kind: ToldLease(verdict) for kind, verdict in verdicts.items()}
        looking = orphans(harness, other, leases=leases)
        await harness.db.instances.beat(INSTANCE, held)
        assert sum([await looking.look_at_leases() for _ in range(LOOKS_MISSING)]) == count

    run_with_client(scenario)


def test_who_takes_its_lease_again_in_time_is_left_alone() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await begun(harness, POST)
        other = CrashRecovery(harness.db, "other", harness.client.find_turn_channel)
        lease = ToldLease(True)
        looking = orphans(harness, other, leases={"postgresql": lease})
        await harness.db.instances.beat(INSTANCE, ["postgresql"])
        for verdict in (True, True, False, True, True):
            lease.verdict = verdict
            assert await looking.look_at_leases() == 0

    run_with_client(scenario)


async def long_ago(harness: ClientHarness, name: str) -> None:
    """It was last heard of long ago."""
    now, store = datetime.now(UTC), harness.db.instances._store
    store.now = lambda: now - timedelta(minutes=3)
    await harness.db.instances.beat(name)
    store.now = lambda: datetime.now(UTC)


def test_a_channel_that_is_gone_is_forgotten() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await begun(harness, POST)
        harness.stage.delete_channel("general")
        await harness.stage.settled()
        await recovery(harness).run()
        assert await left(harness) == 0

    run_with_client(scenario)


def test_a_channel_that_cannot_be_reached_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(harness: ClientHarness) -> None:
        await begun(harness, POST)

        async def away(_channel_id: int) -> DiscordTurnChannel | None:
            raise ConnectionResetError("the line is dead")

        await CrashRecovery(harness.db, INSTANCE, away).run()
        assert await left(harness) == 1
        await recovery(harness).run()
        assert told(harness) == ["first line", TITLE]

    run_with_client(scenario)
    assert "not settled: the line is dead" in caplog.text


def test_where_nobody_can_look_it_is_not_sent_again() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await begun(harness, POST)
        harness.stage.deny("general", "read_message_history")
        await harness.stage.settled()
        await recovery(harness).run()
        assert await left(harness) == 0
        assert told(harness) == [TITLE]
        notice = harness.stage.world.history("general")[-1].embeds[0]
        assert IN_DOUBT in str(notice["description"])

    run_with_client(scenario)


def test_a_webhook_that_keeps_failing_gives_way_to_the_bot() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await begun(harness, replace(POST, face=WebhookFace("Ren")))
        harness.stage.fault(Fault(kind="status", status=500, route=WEBHOOK, times=None))
        await recovery(harness).run()
        assert await left(harness) == 0
        assert told(harness) == ["**Ren**: first line", TITLE]

    run_with_client(scenario, speed=100.0)


def test_the_notice_says_what_can_be_done() -> None:
    assert "/continue" in GO_ON
    assert "/regenerate" in GO_ON
