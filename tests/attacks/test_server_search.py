"""A server as large as Discord allows: who may read what of it is worked out in small steps."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import discord
from discord.user import ClientUser

from oshaberi.bot.client.message_parts import component_lines
from oshaberi.bot.client.server_view import MOST_PLACES, DiscordServerView
from oshaberi.bot.conversation.server_reading import distinct_links, links_in
from tests.attacks.loop_watch import computing_at_most, watched_loop
from tests.bot.test_reading_rights import EVERYONE, HISTORY, VIEW, channel, thread

ROLES = range(1000, 1249)
MOST_CHANNELS = 500
ACCOUNT: Any = {"username": "x", "discriminator": "0", "avatar": None}


def large_guild() -> discord.Guild:
    """250 roles and 500 channels, each with 100 overwrites, and 1000 threads."""
    client = discord.Client(intents=discord.Intents(guilds=True))
    state = client._connection
    overwrites = {EVERYONE: {"allow": 0, "deny": VIEW}}
    overwrites |= {role: {"allow": VIEW, "deny": 0} for role in ROLES[:99]}
    roles = {EVERYONE: VIEW | HISTORY, **dict.fromkeys(ROLES, 0)}
    data: Any = {
        "id": "1",
        "name": "g",
        "owner_id": "999",
        "roles": [
            {"id": str(number), "name": "r", "permissions": str(value), "position": number}
            for number, value in roles.items()
        ],
        "channels": [channel(5000 + number, overwrites) for number in range(MOST_CHANNELS)],
        "threads": [thread(9000 + number, 5000 + number % MOST_CHANNELS) for number in range(1000)],
        "emojis": [],
        "features": [],
    }
    guild = discord.Guild(data=data, state=state)
    state.user = ClientUser(state=state, data=ACCOUNT | {"id": "5"})
    guild._add_member(member(guild, 5, 5))
    return guild


def member(guild: discord.Guild, number: int, roles: int) -> discord.Member:
    data: Any = {"user": ACCOUNT | {"id": str(number)}, "flags": 0}
    data["roles"] = [str(role) for role in ROLES[:roles]]
    return discord.Member(data=data, guild=guild, state=guild._state)


def test_the_channels_to_search_are_found_in_small_steps() -> None:
    guild = large_guild()
    here = guild.get_channel(5000)
    assert here is not None
    reader: Any = SimpleNamespace()
    view = DiscordServerView(reader, here, member(guild, 77, 100))
    with watched_loop(0.05) as watch:
        found = asyncio.run(view._searched(""))
    assert len(found) == MOST_PLACES
    assert watch.steps > MOST_CHANNELS // 50


def test_links_are_found_in_linear_time() -> None:
    start = "https://discord.com/channels/1/2/"
    for text in (start * 100_000, f"{start}{'9' * 1_000_000}", "https://discord.gg/" + "a" * 10**6):
        with computing_at_most():
            assert len(distinct_links(links_in(text), 4)) <= 4


def test_deep_components_are_read_to_a_bound() -> None:
    nested: Any = discord.components.TextDisplay({"type": 10, "content": "x", "id": 1})
    for _ in range(50):
        section: Any = discord.components.Container.__new__(discord.components.Container)
        section.children = [nested] * 2
        nested = section
    with computing_at_most():
        assert len(component_lines([nested], str)) == 60
