"""A script on the stage: people write, requests fail, and the script looks at the result.

python examples/stage_script.py
"""

from __future__ import annotations

import discord

from discord_stage import SEND, Fault, Stage
from discord_stage.testing import default_client, on_stage

WORLD = {
    "guilds": [
        {"name": "Tea House", "members": ["mika"], "channels": ["general"], "emojis": ["tea"]}
    ]
}


async def play(stage: Stage, bot: discord.Client) -> None:
    channel = bot.get_channel(stage.world.channel("general").id)
    assert isinstance(channel, discord.TextChannel)
    stage.people.post("general", "is anybody here?", user="mika")
    stage.fault(Fault(kind="status", status=500, route=SEND, after=True))
    await channel.send("yes, me")
    stage.fault(Fault(kind="code", code=50013, route=SEND))
    try:
        await channel.send("and again")
    except discord.Forbidden as refused:
        print("refused:", refused.code)
    stage.gateway.drop()
    await stage.settled()
    print("requests:", len(stage.calls("POST /channels/*/messages")))
    print("in the channel:", stage.world.contents("general"))


def main() -> None:
    on_stage(play, client=default_client, world=WORLD, speed=50)


if __name__ == "__main__":
    main()
