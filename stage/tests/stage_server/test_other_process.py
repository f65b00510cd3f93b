"""Unmodified bots in processes of their own: what everybody else will do with the stage."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from discord_stage import Stage, StageMessage
from discord_stage.bot_runner import environment

EXAMPLE = Path(__file__).parent / "example_bot.py"
SENDER = """
import asyncio, os, discord
client = discord.Client(intents=discord.Intents.default(), guild_ready_timeout=0.1)
@client.event
async def on_ready():
    await discord.utils.get(client.get_all_channels(), name="general").send("here I am")
    await client.close()
client.run(os.environ["DISCORD_TOKEN"], log_handler=None)
"""


@asynccontextmanager
async def bot_process(stage: Stage, script: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    quiet = ("-W", "ignore:'audioop' is deprecated")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *quiet,
        "-m",
        "discord_stage.bot_runner",
        str(script),
        env=environment(stage.url, stage.token),
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def last(stage: Stage) -> StageMessage:
    return stage.world.history("general")[-1]


async def says(stage: Stage, text: str) -> StageMessage:
    await stage.wait_for(lambda: text in stage.world.contents("general"))
    return last(stage)


def test_a_script_logs_in_sends_and_leaves(tmp_path: Path) -> None:
    async def main() -> None:
        script = tmp_path / "sender.py"
        script.write_text(SENDER)
        async with Stage() as stage, bot_process(stage, script) as process:
            assert await asyncio.wait_for(process.wait(), 60) == 0
            assert stage.world.contents("general") == ["here I am"]
            stage.check()

    asyncio.run(main())


def test_a_plain_bot_with_commands_a_button_and_a_webhook() -> None:
    async def main() -> None:
        async with Stage() as stage, bot_process(stage, EXAMPLE):
            await stage.wait_for(lambda: stage.world.contents("general") == ["ready"], 20)

            asked = stage.people.post("general", "!add 19 23", user="ren")
            answer = await says(stage, "42")
            assert answer.reference is not None
            assert answer.reference["message_id"] == str(asked.id)

            stage.people.post("general", "!counter")
            counter = await says(stage, "pressed 0")
            for number in (1, 2):
                stage.people.press(counter, "Count")
                await says(stage, f"pressed {number}")

            stage.people.post("general", "!mask Nobody")
            masked = await says(stage, "it was never me")
            assert (masked.username, masked.webhook_id) == ("Nobody", masked.author_id)

            said = stage.people.run("echo", {"text": "psst"}, user="mika")
            await stage.wait_for(lambda: said.original_id)
            whispered = stage.world.messages[said.channel_id][said.original_id or 0]
            assert (whispered.content, whispered.ephemeral_to) == ("psst", said.user_id)
            assert "psst" not in stage.world.contents("general")
            stage.check()

    asyncio.run(main())
