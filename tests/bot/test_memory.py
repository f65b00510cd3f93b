"""/memory: everybody sees and deletes their own; the server's needs Manage Server."""

from __future__ import annotations

from datetime import UTC, datetime

from oshaberi.bot.client.discord_client import forget_deleted
from oshaberi.bot.storage.records import ConversationSummary, Exchange, Fact
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
        kept = await harness.confirmed("memory forget all", user=MEMBER, button="Cancel")
        assert kept == "Nothing was deleted."
        assert "likes tea" in await harness.run("memory list", user=MEMBER)
        told = await harness.confirmed("memory forget all", user=MEMBER)
        assert told == "Deleted: 2 facts and 1 exchange."
        assert "Nothing is remembered about you" in await harness.run("memory list", user=MEMBER)
        (left,) = await harness.db.memory.recent(harness.id_of("general"), 10)
        assert left.user_id == 99

    run_with_client(scenario)


def test_every_member_sees_what_the_server_remembers_and_nothing_about_others() -> None:
    """Every answer to them may say it, so a list hides nothing by leaving it out."""

    async def scenario(harness: ClientHarness) -> None:
        (rule,) = await _remember(harness, None, "be kind")
        await _remember(harness, ADMIN, "likes tea")
        servers = {"whose": "server"}
        assert await harness.run("memory list", servers, user=MEMBER) == f"{rule.id}. be kind"
        offered = await harness.choices("memory forget one", "fact", options=servers, user=MEMBER)
        assert offered == [str(rule.id)]
        assert "Nothing is remembered about you" in await harness.run("memory list", user=MEMBER)
        assert await harness.choices("memory forget one", "fact", user=MEMBER) == []

    run_with_client(scenario)


def test_deleting_what_the_server_remembers_needs_manage_server() -> None:
    async def scenario(harness: ClientHarness) -> None:
        (rule,) = await _remember(harness, None, "be kind")
        servers = {"whose": "server"}
        one = servers | {"fact": str(rule.id)}
        assert "Manage Server" in await harness.run("memory forget one", one, user=MEMBER)
        assert "Manage Server" in await harness.run("memory forget all", servers, user=MODERATOR)
        assert len(await harness.db.facts.of(harness.server_id, None)) == 1
        offered = await harness.choices("memory forget one", "fact", options=servers, user=ADMIN)
        assert offered == [str(rule.id)]
        assert await harness.run("memory forget one", one, user=ADMIN) == "The fact is deleted."
        assert await harness.confirmed("memory forget all", servers, user=ADMIN) == (
            "Deleted: 0 facts of this server."
        )

    run_with_client(scenario)


def test_a_channel_is_forgotten_by_moderators() -> None:
    async def scenario(harness: ClientHarness) -> None:
        exchange = Exchange(harness.id_of("general"), 1, "hi", "hello")
        await harness.db.memory.add(exchange, keep=10, days=1)
        assert "Manage Messages" in await harness.run("memory forget channel", user=MEMBER)
        assert "1 exchange of this channel" in await harness.run(
            "memory forget channel", user=MODERATOR
        )
        assert await harness.db.memory.recent(harness.id_of("general"), 10) == ()

    run_with_client(scenario)


def test_summaries_are_told_by_status_and_forgotten() -> None:
    async def scenario(harness: ClientHarness) -> None:
        channel, who = harness.id_of("general"), harness.stage.world.user(MEMBER).id
        at = datetime(2026, 1, 2, tzinfo=UTC)

        async def summarise() -> None:
            made = ConversationSummary(channel, "Tea.", 100, 200, 34, frozenset({who}), at)
            await harness.db.summaries.keep(made, days=10_000)

        assert "Summarised" not in await harness.run("status")
        await summarise()
        status = await harness.run("status")
        assert f"Summarised here: 34 earlier messages, <t:{int(at.timestamp())}:R>." in status
        told = await harness.confirmed("memory forget all", user=MEMBER)
        assert told == "Deleted: 0 facts and 0 exchanges. The summary of 1 channel too."
        await summarise()
        told = await harness.run("memory forget channel", user=MODERATOR)
        assert told == "Deleted: 0 exchanges of this channel and its summary."
        assert await harness.db.summaries.of(channel) is None

    run_with_client(scenario)


def test_a_deleted_message_takes_its_summary_along() -> None:
    async def scenario(harness: ClientHarness) -> None:
        channel = harness.id_of("general")
        made = ConversationSummary(channel, "Tea.", 100, 200, 34, at=datetime.now(UTC))
        await harness.db.summaries.keep(made, days=9)
        await forget_deleted(harness.client.context, channel, [99, 201])
        assert await harness.db.summaries.of(channel) == made
        await forget_deleted(harness.client.context, channel, [150])
        assert await harness.db.summaries.of(channel) is None

    run_with_client(scenario)
