"""What must not go wrong badly: each has one clear outcome, told in one line."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from discord_stage import Fault
from discord_stage.testing import staged
from discord_stage.world_changes.channel_changes import channel_changed
from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.schema.migration import VERSION_TABLE
from oshaberi.bot.wiring.bot_wiring import run
from oshaberi.errors import OshaberiError
from tests.bot.client_harness import MEMBER, OWNER, world
from tests.e2e.bot_harness import FAST, BotHarness, run_with_bot, settings_of


def started(folder: Path, token: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """The program itself, as somebody would start it."""
    given = {
        "HOME": str(folder),
        "PATH": "/usr/bin:/bin",
        "OSHABERI_DATA_DIR": str(folder / "data"),
        "OSHABERI_DISCORD_TOKEN": token,
    }
    return subprocess.run(
        [sys.executable, "-m", "oshaberi", "run"],
        cwd=folder,
        env={**given, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def told_in_one_line(ended: subprocess.CompletedProcess[str], status: int) -> str:
    assert ended.returncode == status, ended
    (line,) = ended.stderr.splitlines()
    return line


def test_a_malformed_file_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "oshaberi.toml").write_text("humanizer_degree = 9\n")
    told = told_in_one_line(started(tmp_path, "t"), 78)
    assert "humanizer_degree" in told
    assert "0 to 3" in told


@pytest.mark.slow
def test_a_database_that_does_not_answer_is_told_in_one_line(tmp_path: Path) -> None:
    url = "postgresql://oshaberi:hunter2@127.0.0.1:1/oshaberi"
    told = told_in_one_line(started(tmp_path, "t", OSHABERI_DATABASE_URL=url), 75)
    assert "cannot be reached" in told
    assert "hunter2" not in told


def refused(
    folder: Path, described: Mapping[str, object] | None = None, **given: Any
) -> OshaberiError:
    """Why a bot does not start on a stage. It leaves nothing running."""

    async def main() -> OshaberiError:
        async with staged(described or world(), FAST) as stage:
            settings = settings_of(folder, {}, **{"discord_token": stage.token, **given})
            with pytest.raises(OshaberiError) as failed:
                await run(settings, {}, guild_ready_timeout=0.1)
            tasks = {task.get_coro().__qualname__ for task in asyncio.all_tasks()}  # type: ignore[union-attr]
            assert not {name for name in tasks if name.startswith(("OshaberiClient", "Reloader"))}
            assert not stage.gateway.connected()
        return failed.value

    error = asyncio.run(main())
    assert "\n" not in str(error)
    return error


def test_a_newer_schema_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "oshaberi.db"

    async def create() -> None:
        async with Database.open(f"sqlite:///{file}", SecretVault([SecretVault.new_key()])):
            pass

    asyncio.run(create())
    with sqlite3.connect(file) as database:
        database.execute(f"UPDATE {VERSION_TABLE} SET version_num = 'r9999'")
    database.close()
    before = file.read_bytes()
    assert "newer than this program" in str(refused(tmp_path))
    assert file.read_bytes() == before


def test_a_wrong_token(tmp_path: Path) -> None:
    error = refused(tmp_path, discord_token="not.a.token-of-anybody")
    assert str(error).startswith("discord_token: Discord does not accept it")
    assert "not.a.token" not in str(error)


def test_intents_that_are_not_granted(tmp_path: Path) -> None:
    error = refused(tmp_path, world() | {"bot": {"intents": []}})
    assert "Message Content Intent" in str(error)


def test_one_channel_without_permission_does_not_disturb_the_others() -> None:
    async def scenario(here: BotHarness) -> None:
        for permission in ("send_messages", "manage_webhooks"):
            here.stage.deny("general", permission)
        for number in range(8):
            refused = here.ask(f"number {number}", user=OWNER if number % 2 else MEMBER)
        here.ask("and here?", channel="logs")
        await here.says("Here.", channel="logs")
        assert here.said() == []
        assert len(here.model.requests) == 1
        assert [one.name for one in here.stage.requests if one.status == 403] == []
        assert "may not write" in await here.choose("Why this turn", refused)
        here.stage.world.channel("general").overwrites.clear()
        channel_changed(here.stage.state, here.stage.world.channel("general"))
        here.ask("and now?")
        await here.says("There.")

    run_with_bot(scenario, "Here.", "There.")


def test_a_refusal_that_nobody_could_foresee_does_not_become_a_storm() -> None:
    async def scenario(here: BotHarness) -> None:
        everywhere = f"POST /channels/{here.id_of('general')}/*"
        here.stage.fault(Fault(kind="code", code=50013, route=everywhere, times=None))
        for number in range(8):
            here.ask(f"number {number}", user=OWNER if number % 2 else MEMBER)
        await here.asked_times(8)
        await here.idle()
        here.ask("and here?", channel="logs")
        await here.says("Here.", channel="logs")
        assert here.said() == []
        assert len(here.stage.calls(f"POST /channels/{here.id_of('general')}/messages")) == 3
        assert len([one for one in here.stage.requests if one.status == 403]) == 4
        here.stage.faults.clear()
        channel_changed(here.stage.state, here.stage.world.channel("general"))
        assert await here.run("continue", user=OWNER) == "Continuing."
        await here.says("Here.")

    run_with_bot(scenario, *["Here."] * 9, follow_up_policy="queue")


def test_without_a_model_the_reader_is_told_what_to_do() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello")
        await here.wait_for(here.notices)
        (notice,) = here.ours()
        assert "/model" in notice.embeds[0]["description"]
        assert "No model is set" in await here.run("status")

    run_with_bot(scenario, chain=0)


def test_a_channel_that_is_out_of_sight() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello")
        await here.says("One.")
        here.stage.deny("general", "view_channel")
        here.ask("hello?", channel="logs")
        await here.says("Two.", channel="logs")
        here.stage.delete_channel("logs")
        here.stage.people.dm("and here?", user=MEMBER)
        await here.says("Three.", channel=f"@{MEMBER}")

    run_with_bot(scenario, "One.", "Two.", "Three.")


def test_a_channel_that_goes_away_during_an_answer() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("count", channel="logs")
        await here.wait_for(lambda: here.said("logs")[:1] == ["1."])
        here.stage.delete_channel("logs")
        await here.idle()
        count = len(here.stage.requests)
        here.ask("hello")
        await here.says("Hi.")
        assert len(here.stage.requests) - count < 8

    slow = {"humanizer_degree": 2, "min_visible_typing_duration_ms": 300, "max_typing_time_ms": 300}
    run_with_bot(scenario, "\n".join(f"{n}." for n in range(1, 9)), "Hi.", **slow)


def test_question_persona_and_webhook_go_away_during_an_answer() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Zoë 🦊 狐", triggers=("狐",))
        asked = here.post("狐?")
        await here.wait_for(lambda: "1." in here.said())
        here.stage.people.delete(asked)
        assert "is deleted" in await here.confirmed("persona delete", {"name": "Zoë 🦊 狐"})
        for webhook in list(here.stage.world.webhooks):
            here.stage.revoke_webhook(webhook)
        await here.wait_for(lambda: "4." in here.said())
        await here.idle()
        answer = [one for one in here.ours() if not one.content.startswith("-#")]
        assert [one.content for one in answer] == ["1.", "2.", "3.", "4."]
        assert {one.username for one in answer} == {"Zoë 🦊 狐"}
        told = await here.run("regenerate", user=MEMBER)
        assert told.startswith("The message that I answered is deleted")
        here.ask("and you?")
        await here.wait_for(lambda: here.said()[-1] == "Me.")

    slow = {"humanizer_degree": 2, "min_visible_typing_duration_ms": 300, "max_typing_time_ms": 300}
    run_with_bot(scenario, "\n".join(f"{n}." for n in range(1, 5)), "Me.", **slow)


@pytest.mark.parametrize("name", ["Clyde", "everyone", "discord fan", "x" * 81, "a:b"])
def test_a_name_that_discord_refuses_is_refused_at_once(name: str) -> None:
    async def scenario(here: BotHarness) -> None:
        told = await here.run("persona create", {"name": name})
        assert len(told.splitlines()) == 1
        assert await here.db.personas.of(here.server_id) == ()

    run_with_bot(scenario)


def test_a_stored_name_that_discord_refuses_still_speaks() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Clyde", triggers=("clyde",))
        here.post("clyde?")
        await here.wait_for(lambda: "Howdy." in here.said())
        spoken = here.ours()[-1]
        assert spoken.webhook_id is not None
        assert spoken.username.replace("\u200b", "") != ""
        here.post("again?", reply_to=spoken.id)
        await here.asked_times(2)
        assert "You are Clyde" in here.asked().system

    run_with_bot(scenario, "Howdy.", "Again.")


def test_without_webhooks_a_persona_says_its_name() -> None:
    async def scenario(here: BotHarness) -> None:
        here.stage.deny("general", "manage_webhooks")
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Mochi", triggers=("mochi",))
        here.post("mochi?")
        (meow,) = await here.says("**Mochi**: Meow.")
        here.post("again?", reply_to=meow.id)
        await here.says("**Mochi**: Meow.", "**Mochi**: Purr.")
        assert here.asked().of("assistant") == ["Meow."]

    run_with_bot(scenario, "Meow.", "Purr.")
