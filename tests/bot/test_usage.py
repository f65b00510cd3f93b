"""/usage: one's own for members, the server's for its admins."""

from __future__ import annotations

from datetime import timedelta

from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage.records import ModelRecord
from oshaberi.bot.storage.usage import UsageAccount, UsageTotals, usage_day
from oshaberi.bot.turns.services.model_access import OperatorModel
from tests.bot.client_harness import ADMIN, MEMBER, OWNER, ClientHarness, run_with_client

OPERATORS = OperatorModel(ModelRecord(0, "openai", "gpt-x"), ("sk-operators-own-key",))


async def note(harness: ClientHarness, user: str, used: UsageTotals, *, days_ago: int = 0) -> None:
    """A request on the operator's key, as a turn counts it."""
    server, person = harness.server_id, harness.stage.world.user(user).id
    channel = harness.id_of("general")
    accounts = [
        UsageAccount("server", server, "user", person),
        UsageAccount("server", server, "server", server),
        UsageAccount("operator", 0, "user", person),
        UsageAccount("operator", 0, "channel", channel),
        UsageAccount("operator", 0, "server", server),
    ]
    day = usage_day(harness.client.context.services.clock()) - timedelta(days_ago)
    await harness.db.usage_counts.add(day, accounts, used)


def test_members_see_their_own() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await note(harness, MEMBER, UsageTotals(3, 1200, 34, 12_345))
        await note(harness, MEMBER, UsageTotals(1, 1000, 0), days_ago=3)
        await note(harness, MEMBER, UsageTotals(1, 7, 7), days_ago=31)
        await note(harness, ADMIN, UsageTotals(5, 9000, 9))
        lines = (await harness.run("usage", user=MEMBER)).split("\n")
        assert lines[:6] == [
            "**You in this server, today:** 3 requests, 1,200 tokens read, 34 written, "
            "about $0.0123.",
            "**In the last 30 days:** 4 requests, 2,200 tokens read, 34 written, about $0.0123.",
            "**Left today:**",
            "- 47 of 50 requests of yours, on the keys of whoever runs the bot",
            "- 98,766 of 100,000 tokens of yours, on the keys of whoever runs the bot",
            "- 0 of 5 requests of this channel, on the keys of whoever runs the bot",
        ]
        assert lines[6].startswith("It renews <t:")

    quotas = TurnConfig(
        quota_requests_per_user_day=50,
        quota_tokens_per_user_day=100_000,
        quota_requests_per_channel_day=5,
    )
    run_with_client(scenario, own=LoadedSettings(turn=quotas), models=[OPERATORS])


def test_admins_see_the_servers_and_who_used_most() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await note(harness, MEMBER, UsageTotals(3, 1200, 34))
        await note(harness, ADMIN, UsageTotals(1, 10, 9, 2_500_000))
        told = await harness.run("usage", {"whose": "server"}, user=ADMIN)
        ids = [harness.stage.world.user(name).id for name in (MEMBER, ADMIN)]
        assert told.split("\n") == [
            "**This server, today:** 4 requests, 1,210 tokens read, 43 written, about $2.50.",
            "**In the last 30 days:** 4 requests, 1,210 tokens read, 43 written, about $2.50.",
            "Of today's usage, on the keys of whoever runs the bot: 4 requests, 1,210 tokens read, "
            "43 written, about $2.50.",
            "Most today:",
            f"- <@{ids[0]}>: 3 requests, 1,200 tokens read, 34 written",
            f"- <@{ids[1]}>: 1 request, 10 tokens read, 9 written, about $2.50",
            "There is no quota.",
        ]
        refused = await harness.run("usage", {"whose": "server"}, user=MEMBER)
        assert refused == ("Only members with the permission Manage Server can see the server's.")

    run_with_client(scenario, models=[OPERATORS])


def test_in_direct_messages_there_is_only_ones_own() -> None:
    async def scenario(harness: ClientHarness) -> None:
        harness.stage.people.dm("hi", user=OWNER)
        here = f"@{OWNER}"
        told = await harness.run("usage", user=OWNER, channel=here)
        assert told.startswith("**You in direct messages, today:** 0 requests")
        told = await harness.run("usage", {"whose": "server"}, user=OWNER, channel=here)
        assert told.startswith("There is no server here")

    run_with_client(scenario)
