"""Reactions that wait while Discord is away: so many, and no more."""

from __future__ import annotations

import asyncio

import discord

from oshaberi.delivery.service_outage import ServiceOutage
from oshaberi.discord_io import RequestTrace
from oshaberi.discord_io.sink import MOST_WAITING_REACTIONS, ClientState
from oshaberi.virtual_time import run_virtual


def test_only_so_many_reactions_wait_for_discord() -> None:
    """The rest is left out at once; those that waited are set when Discord is back."""

    async def no_answer() -> str | None:
        return "nobody answers"

    async def main() -> tuple[list[bool], list[bool]]:
        trace = RequestTrace()
        trace.outage = outage = ServiceOutage(no_answer)
        state = ClientState(discord.Client(intents=discord.Intents.none(), http_trace=trace))
        outage.failed("nobody answers")
        while not outage.is_away:
            await asyncio.sleep(1)
        waiting = [asyncio.create_task(state.may_react()) for _ in range(MOST_WAITING_REACTIONS)]
        await asyncio.sleep(0)
        refused = [await asyncio.wait_for(state.may_react(), 1) for _ in range(10)]
        outage.answered()
        return refused, list(await asyncio.gather(*waiting))

    refused, waited = run_virtual(main())
    assert refused == [False] * 10
    assert waited == [True] * MOST_WAITING_REACTIONS
