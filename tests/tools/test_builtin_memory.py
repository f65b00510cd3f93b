"""remember, forget, list_memories: whose facts they are, and who may change them."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.bot.conversation.messages import Person
from oshaberi.bot.storage.records import Exchange
from oshaberi.bot.tools import ToolBox, builtin_tools
from oshaberi.chunks import ToolCall
from oshaberi.providers.request.model_request import ToolResult
from oshaberi.virtual_time import run_virtual
from tests.tools.fake_tool_context import (
    CHANNEL,
    MIKA,
    NOW,
    REN,
    SERVER,
    FakeExchanges,
    FakeStore,
    context,
)

BOX = ToolBox(builtin_tools())


def ask(
    store: FakeStore, name: str, author: Person = MIKA, server: int = SERVER, **args: Any
) -> str:
    result = result_of(store, name, author, server, **args)
    assert not result.is_error, result
    return result.content


def refused(
    store: FakeStore, name: str, author: Person = MIKA, server: int = SERVER, **args: Any
) -> str:
    result = result_of(store, name, author, server, **args)
    assert result.is_error, result
    return result.content


def result_of(store: FakeStore, name: str, author: Person, server: int, **args: Any) -> ToolResult:
    given = context(author=author, server_id=server, store=store)
    work = BOX.run([ToolCall(name, args)], given, timeout_ms=1000, result_limit_chars=10_000)
    return run_virtual(work)[0]


def texts(store: FakeStore, user_id: int | None, server: int = SERVER) -> list[str]:
    return [one.text for one in run_virtual(store.facts.of(server, user_id))]


def test_a_fact_belongs_to_who_asked() -> None:
    store = FakeStore()
    assert ask(store, "remember", fact=" likes\n tea ") == "Remembered as #1."
    assert ask(store, "remember", REN, fact="likes tea") == "Remembered as #2."
    assert ask(store, "remember", server=0, fact="whispers") == "Remembered as #3."
    assert texts(store, MIKA.id) == texts(store, REN.id) == ["likes tea"]
    assert texts(store, MIKA.id, 0) == ["whispers"]
    assert store.facts.kept[0].at == NOW


def test_facts_of_the_server_need_a_manager() -> None:
    store = FakeStore()
    words = "only members who manage the server change what it remembers"
    assert refused(store, "remember", fact="tea at five", about="server") == words
    assert store.facts.kept == []
    ask(store, "remember", REN, fact="tea at five", about="server")
    assert texts(store, None) == ["tea at five"]
    assert refused(store, "forget", numbers=[1], about="server") == words
    assert refused(store, "forget", numbers=[], about="server", everything=True) == words
    assert texts(store, None) == ["tea at five"]
    assert ask(store, "forget", REN, numbers=[1], about="server") == "Forgotten: #1."


def test_a_direct_message_has_no_server() -> None:
    store = FakeStore()
    assert "belongs to no server" in refused(store, "remember", REN, 0, fact="x", about="server")
    assert store.facts.kept == []


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        ("  ", "the fact is empty"),
        ("x" * 501, "the fact is longer than 500 characters; shorten it"),
        ("LIKES tea", "that is remembered already"),
    ],
)
def test_facts_that_are_not_kept(fact: str, words: str) -> None:
    store = FakeStore()
    ask(store, "remember", fact="likes tea")
    assert refused(store, "remember", fact=fact) == words
    assert texts(store, MIKA.id) == ["likes tea"]


def test_there_is_an_end_to_it() -> None:
    store = FakeStore()
    for number in range(100):
        ask(store, "remember", fact=f"fact {number}")
    assert "100 facts are kept already" in refused(store, "remember", fact="one more")


def test_forgetting() -> None:
    store = FakeStore()
    for fact in ("a", "b", "c"):
        ask(store, "remember", fact=fact)
    ask(store, "remember", REN, fact="mine")
    assert ask(store, "forget", numbers=[2, 9]) == "Forgotten: #2. No such: #9."
    assert refused(store, "forget", numbers=[4]).startswith("no such facts: #4")
    assert ask(store, "forget", numbers=[], everything=True) == "Forgotten: 2."
    assert (texts(store, MIKA.id), texts(store, REN.id)) == ([], ["mine"])


def test_everything_is_listed() -> None:
    old = Exchange(CHANNEL, 1, "so " * 100, "yes\nand no")
    store = FakeStore(memory=FakeExchanges(old, Exchange(CHANNEL + 1, 1, "elsewhere", "x")))
    ask(store, "remember", fact="likes tea")
    ask(store, "remember", REN, fact="tea at five", about="server")
    shown = ask(store, "list_memories").split("\n")
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


def test_in_a_direct_message_there_are_only_facts_of_the_user() -> None:
    shown = ask(FakeStore(), "list_memories", server=0)
    assert "About the user:\n(nothing)" in shown
    assert "server" not in shown


def test_without_a_database_nothing_is_offered() -> None:
    names = {one.name for one in BOX.declarations(context())}
    assert not names & {"remember", "forget", "list_memories"}
    assert {"remember", "forget", "list_memories"} <= {
        one.name for one in BOX.declarations(context(store=FakeStore()))
    }
