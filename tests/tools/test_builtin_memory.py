"""remember, forget, list_memories: whose facts they are, and who may change them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from oshaberi.bot.conversation.messages import Person
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import Exchange, Fact
from oshaberi.bot.tools import ToolBox, builtin_tools
from oshaberi.chunks import ToolCall
from oshaberi.providers.request.model_request import ToolResult
from tests.storage.migrated_database import opened_database
from tests.tools.fake_tool_context import CHANNEL, MIKA, NOW, REN, SERVER, context

BOX = ToolBox(builtin_tools())


def with_memory(scenario: Callable[[Database], Awaitable[None]]) -> None:
    async def main() -> None:
        async with opened_database() as db:
            await scenario(db)

    asyncio.run(main())


async def ask(
    db: Database, name: str, author: Person = MIKA, server: int = SERVER, **args: Any
) -> str:
    result = await result_of(db, name, author, server, **args)
    assert not result.is_error, result
    return result.content


async def refused(
    db: Database, name: str, author: Person = MIKA, server: int = SERVER, **args: Any
) -> str:
    result = await result_of(db, name, author, server, **args)
    assert result.is_error, result
    return result.content


async def result_of(
    db: Database, name: str, author: Person, server: int, **args: Any
) -> ToolResult:
    given = context(author=author, server_id=server, store=db)
    call = ToolCall(name, args)
    (result,) = await BOX.run([call], given, timeout_ms=60_000, result_limit_chars=10_000)
    return result


async def texts(db: Database, user_id: int | None, server: int = SERVER) -> list[str]:
    return [one.text for one in await db.facts.of(server, user_id)]


def test_a_fact_belongs_to_who_asked() -> None:
    async def scenario(db: Database) -> None:
        assert await ask(db, "remember", fact=" likes\n tea ") == "Remembered as #1."
        assert await ask(db, "remember", REN, fact="likes tea") == "Remembered as #2."
        assert await ask(db, "remember", server=0, fact="whispers") == "Remembered as #3."
        assert await texts(db, MIKA.id) == await texts(db, REN.id) == ["likes tea"]
        assert await texts(db, MIKA.id, 0) == ["whispers"]
        (fact,) = await db.facts.of(SERVER, MIKA.id)
        assert fact.at == NOW

    with_memory(scenario)


def test_facts_of_the_server_need_a_manager() -> None:
    async def scenario(db: Database) -> None:
        words = "only members who manage the server change what it remembers"
        assert await refused(db, "remember", fact="tea at five", about="server") == words
        assert await texts(db, None) == await texts(db, MIKA.id) == []
        await ask(db, "remember", REN, fact="tea at five", about="server")
        assert await texts(db, None) == ["tea at five"]
        assert await refused(db, "forget", numbers=[1], about="server") == words
        every = await refused(db, "forget", numbers=[], about="server", everything=True)
        assert every == words
        assert await texts(db, None) == ["tea at five"]
        forgotten = await ask(db, "forget", REN, numbers=[1], about="server")
        assert forgotten == "Forgotten: #1."

    with_memory(scenario)


def test_a_direct_message_has_no_server() -> None:
    async def scenario(db: Database) -> None:
        words = await refused(db, "remember", REN, 0, fact="x", about="server")
        assert "belongs to no server" in words
        assert await texts(db, None, 0) == await texts(db, REN.id, 0) == []

    with_memory(scenario)


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        ("  ", "the fact is empty"),
        ("x" * 501, "the fact is longer than 500 characters; shorten it"),
        ("LIKES tea", "that is remembered already"),
    ],
)
def test_facts_that_are_not_kept(fact: str, words: str) -> None:
    async def scenario(db: Database) -> None:
        await ask(db, "remember", fact="likes tea")
        assert await refused(db, "remember", fact=fact) == words
        assert await texts(db, MIKA.id) == ["likes tea"]

    with_memory(scenario)


def test_there_is_an_end_to_it() -> None:
    async def scenario(db: Database) -> None:
        for number in range(100):
            await db.facts.add(Fact(SERVER, f"fact {number}", MIKA.id))
        words = await refused(db, "remember", fact="one more")
        assert "100 facts are kept already" in words

    with_memory(scenario)


def test_forgetting() -> None:
    async def scenario(db: Database) -> None:
        for fact in ("a", "b", "c"):
            await ask(db, "remember", fact=fact)
        await ask(db, "remember", REN, fact="mine")
        assert await ask(db, "forget", numbers=[2, 9]) == "Forgotten: #2. No such: #9."
        assert (await refused(db, "forget", numbers=[4])).startswith("no such facts: #4")
        assert await ask(db, "forget", numbers=[], everything=True) == "Forgotten: 2."
        assert (await texts(db, MIKA.id), await texts(db, REN.id)) == ([], ["mine"])

    with_memory(scenario)


def test_everything_is_listed() -> None:
    async def scenario(db: Database) -> None:
        here = Exchange(CHANNEL, 1, "so " * 100, "yes\nand no")
        for exchange in (here, Exchange(CHANNEL + 1, 1, "elsewhere", "x")):
            await db.memory.add(exchange, keep=5, days=1)
        await ask(db, "remember", fact="likes tea")
        await ask(db, "remember", REN, fact="tea at five", about="server")
        shown = (await ask(db, "list_memories")).split("\n")
        assert shown[:5] == [
            "About the user:",
            "#1 likes tea",
            "",
            "About the server:",
            "#2 tea at five",
        ]
        assert shown[6:] == [
            "The last exchanges in this channel:",
            f"- {('so ' * 100)[:120]}… → yes and no",
        ]

    with_memory(scenario)


def test_in_a_direct_message_there_are_only_facts_of_the_user() -> None:
    async def scenario(db: Database) -> None:
        shown = await ask(db, "list_memories", server=0)
        assert "About the user:\n(nothing)" in shown
        assert "server" not in shown

    with_memory(scenario)


def test_without_a_database_nothing_is_offered() -> None:
    async def scenario(db: Database) -> None:
        names = {one.name for one in BOX.declarations(context())}
        assert not names & {"remember", "forget", "list_memories"}
        assert {"remember", "forget", "list_memories"} <= {
            one.name for one in BOX.declarations(context(store=db))
        }

    with_memory(scenario)
