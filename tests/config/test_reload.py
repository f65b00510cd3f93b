"""Hot reload: what changes, what waits for a restart, and what a mistake does (nothing)."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from oshaberi.bot.config import LoadedSettings, Reloader, load
from oshaberi.virtual_time import run_virtual

Write = Callable[[str], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "oshaberi.toml"


@pytest.fixture
def write(path: Path) -> Write:
    """Each writing is later than the one before, whatever the file system's clock."""
    written = 0

    def text(toml: str) -> None:
        nonlocal written
        written += 1
        path.write_text(toml, encoding="utf-8")
        os.utime(path, ns=(written * 10**9, written * 10**9))

    return text


def test_a_change_is_taken_up(path: Path, write: Write) -> None:
    write("hold_limit = 300")
    heard: list[LoadedSettings] = []
    reloader = Reloader(load(path, {}), {}, heard.append)
    assert reloader.check() is None
    write("hold_limit = 400")
    changed = reloader.check()
    assert changed is not None
    assert changed.value("hold_limit") == 400
    assert reloader.current is changed
    assert heard == [changed]
    assert reloader.check() is None


def test_the_environment_still_goes_first(path: Path, write: Write) -> None:
    environ = {"OSHABERI_HOLD_LIMIT": "60"}
    write("hold_limit = 300")
    reloader = Reloader(load(path, environ), environ)
    write("hold_limit = 400")
    assert reloader.check() is None
    assert reloader.current.value("hold_limit") == 60


def test_a_mistake_is_one_line_and_changes_nothing(
    path: Path, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    write("hold_limit = 300")
    reloader = Reloader(load(path, {}), {})
    for wrong in ("hold_limit = 1", "hold_limit ="):
        write(wrong)
        assert reloader.check() is None
        assert reloader.check() is None
    path.unlink()
    assert reloader.check() is None
    assert reloader.current.value("hold_limit") == 300
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 3
    assert "hold_limit: 1 is not a whole number from 50 to 4000" in lines[0]
    assert "there is no value after the =" in lines[1]
    assert "no such settings file" in lines[2]
    write("hold_limit = 310")
    assert reloader.check() is not None


def test_what_needs_a_restart_is_named_and_waits(
    path: Path, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    write('redis_url = "redis://one"\nlog_level = "info"')
    reloader = Reloader(load(path, {}), {})
    write('redis_url = "redis://two"\nstage_port = 1\nlog_level = "debug"')
    with caplog.at_level(logging.INFO):
        changed = reloader.check()
    assert changed is not None
    assert (changed.log_level, changed.redis_url, changed.stage_port) == (
        "debug",
        "redis://one",
        8420,
    )
    assert changed.origin("redis_url") == str(path)
    assert changed.origin("stage_port") == "default"
    assert [record.getMessage() for record in caplog.records] == [
        "these need a restart: redis_url, stage_port",
        "settings changed: log_level",
    ]


@pytest.mark.parametrize("before", ["stage_port = 9000", None])
def test_what_a_command_line_set_is_no_change_of_the_file(
    path: Path, write: Write, caplog: pytest.LogCaptureFixture, before: str | None
) -> None:
    if before:
        write(before)
    settings = load(path, {}) if before else LoadedSettings(file=path)
    chosen = replace(settings, discord_token="of-the-stage", stage_port=1)
    reloader = Reloader(chosen, {"OSHABERI_DATA_DIR": str(settings.data_dir)})
    with caplog.at_level(logging.INFO):
        for number in (1, 2):
            write(f"{before or ''}\n[persona]\nname = 'Mochi'\ntriggers = ['tea{number}']")
            changed = reloader.check()
            assert changed is not None
            assert (changed.discord_token, changed.stage_port) == ("of-the-stage", 1)
    told = ["settings changed: persona"] * 2
    assert [record.getMessage() for record in caplog.records] == told


def test_what_waits_for_a_restart_is_named_until_it_is_taken_back(
    path: Path, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    write("stage_port = 9000")
    reloader = Reloader(replace(load(path, {}), stage_port=1), {})
    for toml in ("stage_port = 1", "stage_port = 1\nhold_limit = 300", "stage_port = 9000"):
        write(toml)
        reloader.check()
    told = ["these need a restart: stage_port"] * 2
    assert [record.getMessage() for record in caplog.records] == told


def test_models_and_persona_are_taken_up(path: Path, write: Write) -> None:
    write("")
    reloader = Reloader(load(path, {}), {})
    write('[persona]\nname = "Mochi"\n[[models]]\nprovider = "ollama"\nmodel = "m"')
    changed = reloader.check()
    assert changed is not None
    assert changed.persona is not None
    assert [model.model for model in changed.models] == ["m"]


def test_a_file_that_appears_later_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reloader = Reloader(load(None, {}), {})
    assert reloader.check() is None
    (tmp_path / "oshaberi.toml").write_text("hold_limit = 300")
    changed = reloader.check()
    assert changed is not None
    assert changed.value("hold_limit") == 300


def test_watching_looks_now_and_then(path: Path, write: Write) -> None:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        seen: list[float] = []
        reloader = Reloader(load(path, {}), {}, lambda _new: seen.append(loop.time()), every_s=2)
        watching = asyncio.create_task(reloader.watch())
        began = loop.time()
        await asyncio.sleep(3)
        write("hold_limit = 400")
        await asyncio.sleep(4)
        watching.cancel()
        return [at - began for at in seen]

    write("hold_limit = 300")
    assert run_virtual(main()) == [4.0]
