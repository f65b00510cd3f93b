"""Who may read what: whoever sees one channel may read the other, tried with everybody there is."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import discord
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.bot.client.reading_rights import Audience, Place, may_read, reads_history

VIEW, HISTORY, CONNECT = 1 << 10, 1 << 16, 1 << 20
BITS = [0, VIEW, HISTORY, VIEW | HISTORY]
ROLES, MEMBERS = (11, 12, 13), (21, 22)
EVERYONE, HERE, THERE, SIDE, SECRET = 1, 101, 102, 103, 104


def everybody_reads(there: Place, here: Place, *, with_history: bool = True) -> bool:
    return Audience(here).reads(there, with_history=with_history)


masks = st.sampled_from(BITS)
overwrite = st.fixed_dictionaries({"allow": masks, "deny": masks})
overwrites = st.dictionaries(st.sampled_from([EVERYONE, *ROLES, *MEMBERS]), overwrite, max_size=5)


def channel(number: int, table: dict[int, dict[str, int]], kind: int = 0) -> dict[str, Any]:
    return {
        "id": str(number),
        "type": kind,
        "name": f"c{number}",
        "position": 0,
        "permission_overwrites": [
            {
                "id": str(target),
                "type": 1 if target in MEMBERS else 0,
                "allow": str(one["allow"]),
                "deny": str(one["deny"]),
            }
            for target, one in table.items()
        ],
        "bitrate": 64000,
        "user_limit": 0,
    }


def thread(number: int, parent: int, *, private: bool = False) -> dict[str, Any]:
    return {
        "id": str(number),
        "parent_id": str(parent),
        "owner_id": "21",
        "type": 12 if private else 11,
        "name": f"t{number}",
        "message_count": 0,
        "member_count": 0,
        "thread_metadata": {
            "archived": False,
            "auto_archive_duration": 60,
            "archive_timestamp": "2026-11-19T10:00:00+00:00",
            "locked": False,
        },
    }


def guild_of(
    everyone: int, roles: dict[int, int], here: dict[str, Any], there: dict[str, Any]
) -> discord.Guild:
    client = discord.Client(intents=discord.Intents(guilds=True))
    data: Any = {
        "id": "1",
        "name": "g",
        "owner_id": "999",
        "roles": [
            {"id": str(number), "name": f"r{number}", "permissions": str(value), "position": number}
            for number, value in {EVERYONE: everyone, **roles}.items()
        ],
        "channels": [here, there],
        "threads": [thread(SIDE, THERE), thread(SECRET, THERE, private=True)],
        "emojis": [],
        "features": [],
    }
    return discord.Guild(data=data, state=client._connection)


def people(guild: discord.Guild) -> list[discord.Member]:
    """Everybody there can be: each set of roles, with each overwrite of one's own or none."""
    sets = [chosen for size in range(4) for chosen in combinations(ROLES, size)]
    return [
        discord.Member(
            data={  # type: ignore[typeddict-item]
                "user": {"id": str(number), "username": "x", "discriminator": "0", "avatar": None},
                "roles": [str(role) for role in chosen],
                "flags": 0,
            },
            guild=guild,
            state=guild._state,
        )
        for number in (77, *MEMBERS)
        for chosen in sets
    ]


def place(guild: discord.Guild, number: int) -> Any:
    found = guild.get_channel_or_thread(number)
    assert found is not None
    return found


@given(
    everyone=masks,
    roles=st.fixed_dictionaries(dict.fromkeys(ROLES, st.sampled_from([*BITS, 8]))),
    here=overwrites,
    there=overwrites,
    vocal=st.booleans(),
)
def test_nobody_who_sees_the_one_is_kept_from_the_other(
    everyone: int,
    roles: dict[int, int],
    here: dict[int, dict[str, int]],
    there: dict[int, dict[str, int]],
    vocal: bool,
) -> None:
    guild = guild_of(everyone, roles, channel(HERE, here), channel(THERE, there, 2 * vocal))
    ours = place(guild, HERE)
    for number in (THERE, SIDE):
        theirs = place(guild, number)
        all_read, all_see = (
            everybody_reads(theirs, ours, with_history=wanted) for wanted in (True, False)
        )
        for person in people(guild):
            if ours.permissions_for(person).view_channel:
                assert may_read(theirs, person) or not all_read
                assert theirs.permissions_for(person).view_channel or not all_see
    assert not everybody_reads(place(guild, SECRET), ours)


OPEN: dict[int, dict[str, int]] = {}
CLOSED = {EVERYONE: {"allow": 0, "deny": VIEW}}
TEAM = {**CLOSED, 11: {"allow": VIEW, "deny": 0}}
BOTH = {**TEAM, 12: {"allow": VIEW, "deny": 0}}
MUTED = {12: {"allow": 0, "deny": VIEW}}
NO_HISTORY = {11: {"allow": 0, "deny": HISTORY}}


@pytest.mark.parametrize(
    ("here", "there", "reads"),
    [
        (OPEN, OPEN, True),
        (TEAM, OPEN, True),
        (OPEN, TEAM, False),
        (TEAM, TEAM, True),
        (TEAM, BOTH, True),
        (BOTH, TEAM, False),
        (MUTED, MUTED, True),
        (OPEN, MUTED, False),
        (OPEN, NO_HISTORY, False),
        (TEAM, CLOSED, False),
    ],
)
def test_usual_servers(
    here: dict[int, dict[str, int]], there: dict[int, dict[str, int]], reads: bool
) -> None:
    """The rule errs on the safe side, but not where servers are as most are."""
    roles = dict.fromkeys(ROLES, 0)
    guild = guild_of(VIEW | HISTORY, roles, channel(HERE, here), channel(THERE, there))
    assert everybody_reads(place(guild, THERE), place(guild, HERE)) is reads
    assert everybody_reads(place(guild, SIDE), place(guild, HERE)) is reads
    assert everybody_reads(place(guild, THERE), place(guild, SIDE), with_history=False)


def test_a_bot_among_the_readers_closes_nothing() -> None:
    """Its role gives it a way in, but it does not read over anybody's shoulder."""
    guild = guild_of(VIEW | HISTORY, {11: 0, 12: 0}, channel(HERE, BOTH), channel(THERE, TEAM))
    assert not everybody_reads(place(guild, THERE), place(guild, HERE))
    role = guild.get_role(12)
    assert role is not None
    role.tags = discord.RoleTags({"bot_id": "5"})
    assert everybody_reads(place(guild, THERE), place(guild, HERE))


def test_a_private_thread_is_read_by_who_is_in_it() -> None:
    guild = guild_of(VIEW | HISTORY, {11: 0}, channel(HERE, OPEN), channel(THERE, OPEN))
    secret, person = place(guild, SECRET), people(guild)[0]
    assert not may_read(secret, person)
    assert reads_history(secret, person), "if they are in it, which Discord has to say"
    assert everybody_reads(secret, secret)


def test_a_voice_channel_is_read_by_who_may_enter() -> None:
    closed = {EVERYONE: {"allow": 0, "deny": CONNECT}}
    guild = guild_of(
        VIEW | HISTORY | CONNECT, {}, channel(HERE, OPEN, 2), channel(THERE, closed, 2)
    )
    here, there, person = place(guild, HERE), place(guild, THERE), people(guild)[0]
    assert may_read(here, person)
    assert not may_read(there, person)
    assert not everybody_reads(there, here)
