"""Worlds from descriptions: the good one, and every mistake with its place and its reason."""

from __future__ import annotations

import pytest

from discord_stage import StageError, World, WorldError
from discord_stage.world.permissions import Permission
from discord_stage.world.records import ChannelType

FULL: dict[str, object] = {
    "bot": {
        "name": "Nana",
        "token": "t.o.k",
        "intents": ["members"],
        "permissions": ["view_channel"],
    },
    "users": [{"name": "stranger", "dms": False}],
    "guilds": [
        {
            "name": "House",
            "owner": "ren",
            "everyone": ["view_channel"],
            "roles": [
                {
                    "name": "mods",
                    "permissions": ["manage_messages"],
                    "color": 255,
                    "mentionable": True,
                }
            ],
            "members": ["mika", {"name": "ren", "nick": "Ren", "roles": ["mods"], "avatar": "abc"}],
            "emojis": ["wave", {"name": "spin", "animated": True}],
            "automod": ["swearword"],
            "harmful_links": ["bad.example"],
            "channels": [
                {"name": "Rooms", "type": "category"},
                {
                    "name": "general",
                    "category": "Rooms",
                    "topic": "all",
                    "slowmode_s": 5,
                    "overwrites": [
                        {"role": "mods", "allow": ["manage_webhooks"]},
                        {"member": "mika", "deny": ["send_messages"]},
                    ],
                    "threads": ["open", {"name": "old", "archived": True, "locked": True}],
                },
                {"name": "posts", "type": "forum", "tags": ["idea"], "nsfw": True},
            ],
        },
        {"name": "Other", "members": ["mika"], "channels": ["lobby"]},
    ],
}


def test_a_full_description() -> None:
    world = World.described(FULL)
    house, general = world.guild("House"), world.channel("general")
    assert house.owner_id == world.user("ren").id
    assert world.application.token == "t.o.k"
    assert world.application.privileged == {"members"}
    assert general.parent_id == world.channel("Rooms").id
    assert (general.topic, general.slowmode_s) == ("all", 5)
    assert world.channel("posts").type is ChannelType.FORUM
    assert [tag.name for tag in world.channel("posts").tags] == ["idea"]
    assert world.channel("posts").details == {"nsfw": True}
    old = world.channel("old").thread
    assert old is not None
    assert (old.archived, old.locked) == (True, True)
    assert [emoji.animated for emoji in house.emojis.values()] == [False, True]
    assert not world.user("stranger").dms_open
    assert not world.share_guild(world.user("stranger").id)
    # mika is in both guilds, and one person
    assert sum(user.name == "mika" for user in world.users.values()) == 1
    assert world.bot.id in house.members


def test_permissions_of_roles_overwrites_threads_and_owners() -> None:
    world = World.described(FULL)
    general, thread = world.channel("general"), world.channel("open")
    mika, ren, bot = world.user("mika").id, world.user("ren").id, world.bot.id
    assert not world.permissions_of(mika, general) & Permission.SEND_MESSAGES
    assert world.permissions_of(mika, general) & Permission.VIEW_CHANNEL
    assert world.permissions_of(ren, general) & Permission.ADMINISTRATOR
    assert world.permissions_of(bot, thread) == world.permissions_of(bot, general)
    assert world.permissions_of(world.user("stranger").id, general) == 0


def test_a_small_world_needs_no_description() -> None:
    world = World.described()
    assert world.channel("general").guild_id == world.guild("Stage").id
    with pytest.raises(StageError, match="this world has no channel 'generall'"):
        world.channel("generall")


def test_a_name_for_two_things_must_be_an_id() -> None:
    twice = {"name": "A", "members": ["mika"], "channels": ["lobby"]}
    world = World.described({"guilds": [twice, twice | {"name": "B"}]})
    with pytest.raises(StageError, match="2 channels are called 'lobby': say which by its id"):
        world.channel("lobby")


GUILD = {"name": "G", "members": ["mika"], "channels": ["c"]}
MISTAKES: list[tuple[object, str]] = [
    ({}, "world: describes no guild"),
    ({"guilds": []}, "world: describes no guild"),
    ({"guild": [GUILD]}, r"world: guild: no such key; did you mean 'guilds'\?"),
    ({"guilds": [{"name": "G", "channels": []}]}, r"guilds\[0\].members: is missing"),
    ({"guilds": [GUILD | {"members": []}]}, r"guilds\[0\].members: has nobody in it"),
    ({"guilds": [GUILD | {"owner": "mikka"}]}, r"owner: 'mikka'.*did you mean 'mika'\?"),
    ({"guilds": [GUILD | {"channels": ["c", "c"]}]}, r"channels\[1\]: 'c' is there twice"),
    ({"guilds": [GUILD, GUILD]}, r"guilds\[1\].name: 'G' is there twice"),
    ({"guilds": [GUILD | {"channels": [""]}]}, r"channels\[0\]: '' is not a name of 1 to 100"),
    ({"guilds": [GUILD | {"channels": [3]}]}, r"channels\[0\]: must be an object, not a number"),
    (
        {"guilds": [GUILD | {"channels": [{"name": "c", "type": "txt"}]}]},
        r"channels\[0\].type: 'txt' is not one of: text, news",
    ),
    (
        {"guilds": [GUILD | {"channels": [{"name": "c", "slowmode_s": 99999}]}]},
        r"slowmode_s: 99999 is not a whole number from 0 to 21600",
    ),
    (
        {"guilds": [GUILD | {"channels": [{"name": "c", "category": "x"}]}]},
        "category: 'x': there is no such category above it",
    ),
    (
        {"guilds": [GUILD | {"channels": [{"name": "c", "tags": ["t"]}]}]},
        "only a forum has tags",
    ),
    (
        {"guilds": [GUILD | {"channels": [{"name": "c", "type": "voice", "threads": ["t"]}]}]},
        r"threads\[0\]: a voice channel has no threads",
    ),
    (
        {"guilds": [GUILD | {"channels": [{"name": "c", "overwrites": [{"allow": []}]}]}]},
        r"overwrites\[0\]: needs either `role` or `member`",
    ),
    (
        {"guilds": [GUILD | {"everyone": ["fly"]}]},
        r"everyone\[0\]: 'fly' is not one of: create_i",
    ),
    ({"guilds": [GUILD | {"emojis": ["no spaces"]}]}, r"emojis\[0\]: 'no spaces': an emoji's name"),
    ({"guilds": [GUILD | {"members": ["Stagehand"]}]}, r"members\[0\]: is the bot's name"),
    ({"guilds": [GUILD], "bot": {"intents": ["all"]}}, r"bot.intents\[0\]: 'all' is not one of"),
    ({"guilds": [GUILD], "users": [{"dms": True}]}, r"users\[0\].name: is missing"),
]


@pytest.mark.parametrize(("description", "reason"), MISTAKES)
def test_a_mistake_is_named(description: dict[str, object], reason: str) -> None:
    with pytest.raises(WorldError, match=reason):
        World.described(description)
