"""The journal's rows: what a process that was killed left behind, and what is forgotten."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import pytest

from oshaberi.bot.storage import Database, SecretVault, StorageError
from oshaberi.bot.storage.records import JournalledPost, JournalledStream
from oshaberi.delivery.journal import JournalledSink, post_of_body
from oshaberi.delivery.recording_sink import RecordingSink, ScriptedFault
from oshaberi.delivery.sink import AmbiguousError, File, Post, WireState
from oshaberi.virtual_time import run_virtual

from .scenario_database import KEY, NOON, Clock, ask, with_database

STREAM = JournalledStream("k", "one", 1, 2**60, 3, 4, "Ren", NOON)
BODY = {"content": "ja \ud83d\x00", "files": [], "reply": True}

FILE = File("t.png", bytes(range(256)), source="|a|", width=3, height=4)

KILLED = """
import asyncio, os, signal, sys
from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.records import JournalledPost, JournalledStream

async def main():
    async with Database.open(sys.argv[1], SecretVault([sys.argv[2]])) as db:
        await db.journal.begin(JournalledStream("k", "one", 1, 2, 3))
        for number in (1, 2, 3):
            await db.journal.intend("k", JournalledPost(f"k-{number}", number, {"content": "x"}, 9))
        await db.journal.mark_sent("k", "k-1", 77)
        await db.journal.mark_refused("k", "k-2")
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


def test_it_knows_what_was_under_way_after_a_kill(url: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, url, KEY], check=False)
    assert done.returncode == -signal.SIGKILL
    (stream,) = with_database(url, lambda db: db.journal.unfinished("one"))
    assert [(post.nonce, post.state, post.message_id) for post in stream.posts] == [
        ("k-1", "sent", 77),
        ("k-2", "refused", None),
        ("k-3", "intended", None),
    ]
    assert stream.posts[2].body == {"content": "x"}
    assert stream.posts[2].newest_id == 9


def test_what_one_left_is_adopted_once(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.journal.begin(STREAM)
        await db.journal.begin(replace(STREAM, key="other", instance="two"))
        entry = JournalledPost("k-1", 1, {"content": "x"}, 9)
        await db.journal.intend("k", entry)
        adopted = await asyncio.gather(*(db.journal.adopt("one", "other") for _ in range(3)))
        assert sorted(adopted) == [(), (), ("k",)]
        (stream,) = await db.journal.unfinished("other")
        assert (stream.key, stream.posts) == ("k", (entry,))
        assert await db.journal.unfinished("one") == ()
        assert len(await db.journal.unfinished("two")) == 1

    with_database(url, scenario)


def test_who_is_silent_and_left_something_is_gone(url: str) -> None:
    clock, lease = Clock(), timedelta(minutes=2)

    async def scenario(db: Database) -> None:
        for name in ("one", "never", "idle"):
            if name != "never":
                await db.instances.beat(name)
            if name != "idle":
                await db.journal.begin(replace(STREAM, key=name, instance=name, began=clock()))
        assert await db.instances.silent_for(lease) == ()
        clock.pass_days(1)
        assert set(await db.instances.silent_for(lease)) == {"one", "never"}
        await db.instances.beat("one")
        assert await db.instances.silent_for(lease) == ("never",)
        clock.pass_days(31)
        await db.instances.beat("main")

    with_database(url, scenario, now=clock)
    assert ask(url, "SELECT name FROM instances") == [("main",)]


def test_a_sink_writes_it(url: str) -> None:
    """One message arrives, of the other nobody knows; then the process is gone."""

    async def main() -> JournalledStream:
        async with Database.open(url, SecretVault([KEY])) as db:
            await db.journal.begin(replace(STREAM, began=None))
            channel = RecordingSink([ScriptedFault("file", 1, "reset_after_write")])
            sink = JournalledSink(channel, db.journal, lambda: 40, "k")
            loop = asyncio.get_running_loop()
            await sink.send(Post("k-1", "one"), WireState(loop.time()))
            with pytest.raises(AmbiguousError):
                await sink.send(Post("k-2", "two", files=(FILE,)), WireState(loop.time()))
        async with Database.open(url, SecretVault([KEY])) as db:
            (stream,) = await db.journal.unfinished("one")
            return stream

    first, second = run_virtual(main()).posts
    assert (first.state, first.message_id, first.newest_id) == ("sent", 1, 40)
    assert (second.state, second.message_id) == ("intended", None)
    assert post_of_body(second.body) == Post("k-2", "two", files=(FILE,))


def test_a_stream_comes_back_whole(url: str) -> None:
    post = JournalledPost("k-2", 2, BODY, 2**61)

    async def scenario(db: Database) -> None:
        await db.journal.begin(STREAM)
        await db.journal.begin(replace(STREAM, key="other", instance="two"))
        await db.journal.intend("k", post)
        await db.journal.intend("k", JournalledPost("k-10", 10, {}))
        await db.journal.intend("k", JournalledPost("k-1", 1, {}))
        await db.journal.mark_sent("k", "k-1", None)
        (found,) = await db.journal.unfinished("one")
        assert replace(found, posts=()) == STREAM
        assert [one.number for one in found.posts] == [1, 2, 10]
        assert found.posts[1] == post
        assert found.posts[0].state == "sent"
        assert [one.key for one in await db.journal.unfinished("two")] == ["other"]

    with_database(url, scenario)


def test_a_second_attempt(url: str) -> None:
    """Refused, then tried again otherwise: it is open again, and looked for from the first id."""

    async def scenario(db: Database) -> None:
        await db.journal.begin(STREAM)
        await db.journal.intend("k", JournalledPost("k-1", 1, {"face": "x"}, 5))
        await db.journal.mark_refused("k", "k-1")
        await db.journal.intend("k", JournalledPost("k-1", 1, {"face": None}, 8))
        (found,) = await db.journal.unfinished("one")
        assert found.posts == (JournalledPost("k-1", 1, {"face": None}, 5),)

    with_database(url, scenario)


def test_what_is_finished_is_forgotten(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.journal.begin(STREAM)
        await db.journal.intend("k", JournalledPost("k-1", 1, BODY))
        await db.journal.finish("k")
        await db.journal.mark_sent("k", "k-1", 5)
        assert await db.journal.unfinished("one") == ()

    with_database(url, scenario)
    assert ask(url, "SELECT count(*) FROM journal_posts") == [(0,)]


def test_a_message_needs_its_stream(url: str) -> None:
    async def scenario(db: Database) -> None:
        with pytest.raises(StorageError, match=r"(?i)foreign key"):
            await db.journal.intend("nobody", JournalledPost("nobody-1", 1, BODY))

    with_database(url, scenario)


def test_after_a_week_nobody_finishes_it(url: str) -> None:
    clock = Clock()

    async def scenario(db: Database) -> None:
        await db.journal.begin(replace(STREAM, key="old", began=None))
        clock.pass_days(8)
        await db.journal.begin(replace(STREAM, key="new", began=None))
        await db.prune()
        assert [one.key for one in await db.journal.unfinished("one")] == ["new"]

    with_database(url, scenario, now=clock)
