"""/memory: everybody sees and deletes their own; the server's needs Manage Server."""

from __future__ import annotations

from oshaberi.storage.stored_records import Exchange, Fact
from tests.bot.client_harness import ADMIN, MEMBER, MODERATOR, OWNER, ClientHarness, run_with_client


async def _remember(harness: ClientHarness, user: str | None, *texts: str) -> list[Fact]:
    who = None if user is None else harness.stage.world.user(user).id
    return [await harness.db.facts.add(Fact(harness.server_id, text, who)) for text in texts]


def test_own_facts_are_listed_and_forgotten() -> None:
    async def scenario(harness: ClientHarness) -> None:
        tea, cats = await _remember(harness, MEMBER, "likes *tea*", "has cats")
        (foreign,) = await _remember(harness, OWNER, "is tall")
        assert await harness.run("memory list", user=MEMBER) == (
            f"{tea.id}. likes \\*tea\\*\n{cats.id}. has cats"
        )
        assert await harness.choices("memory forget one", "fact", "cat", user=MEMBER) == [
            str(cats.id)
        ]
        for number in (str(foreign.id), "tea", "9" * 40):
            told = await harness.run("memory forget one", {"fact": number}, user=MEMBER)
            assert "no such fact" in told
        told = await harness.run("memory forget one", {"fact": str(tea.id)}, user=MEMBER)
        assert told == "The fact is deleted."
        assert "cats" in await harness.run("memory list", user=MEMBER)
        assert "is tall" in await harness.run("memory list", user=OWNER)

    run_with_client(scenario)


def test_forgetting_all_takes_what_was_said_lately_too() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await _remember(harness, MEMBER, "likes tea", "has cats")
        who = harness.stage.world.user(MEMBER).id
        for user_id in (who, 99):
            exchange = Exchange(harness.id_of("general"), user_id, "hi", "hello")
            await harness.db.memory.add(exchange, keep=10, days=1)
        told = await harness.run("memory forget all", user=MEMBER)
        assert told == "Deleted: 2 facts and 1 exchanges."
        assert "Nothing is remembered about you" in await harness.run("memory list", user=MEMBER)
        (left,) = await harness.db.memory.recent(harness.id_of("general"), 10)
        assert left.user_id == 99

    run_with_client(scenario)


def test_what_the_server_remembers_needs_manage_server() -> None:
    async def scenario(harness: ClientHarness) -> None:
        (rule,) = await _remember(harness, None, "be kind")
        servers = {"whose": "server"}
        assert "be kind" in await harness.run("memory list", servers, user=MEMBER)
        one = servers | {"fact": str(rule.id)}
        assert "Manage Server" in await harness.run("memory forget one", one, user=MEMBER)
        assert "Manage Server" in await harness.run("memory forget all", servers, user=MODERATOR)
        assert len(await harness.db.facts.of(harness.server_id, None)) == 1
        offered = await harness.choices("memory forget one", "fact", options=servers, user=ADMIN)
        assert offered == [str(rule.id)]
        assert await harness.run("memory forget one", one, user=ADMIN) == "The fact is deleted."
        assert await harness.run("memory forget all", servers, user=ADMIN) == (
            "Deleted: 0 facts of this server."
        )

    run_with_client(scenario)


def test_a_channel_is_forgotten_by_moderators() -> None:
    async def scenario(harness: ClientHarness) -> None:
        exchange = Exchange(harness.id_of("general"), 1, "hi", "hello")
        await harness.db.memory.add(exchange, keep=10, days=1)
        assert "Manage Messages" in await harness.run("memory forget channel", user=MEMBER)
        assert "1 exchanges" in await harness.run("memory forget channel", user=MODERATOR)
        assert await harness.db.memory.recent(harness.id_of("general"), 10) == ()

    run_with_client(scenario)
