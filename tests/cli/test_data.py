"""`oshaberi data`: the operator's way to export and delete."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import stat
import subprocess
from pathlib import Path

import pytest

from oshaberi import cli
from oshaberi.bot.storage import Database, SecretVault, upgrade
from oshaberi.bot.storage.records import Exchange, Fact, KeyRecord, PersonaRecord, TurnRecord
from tests.local_run.local_run_process import OSHABERI, environment
from tests.storage.migrated_database import place_database
from tests.storage.scenario_database import KEY

USER, SERVER = 123, 456


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database with a user and a server in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OSHABERI_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("OSHABERI_SECRET_KEY", KEY)
    path = tmp_path / "oshaberi.db"
    place_database(path)

    async def fill() -> None:
        async with Database.open(f"sqlite:///{path}", SecretVault([KEY])) as db:
            await db.facts.add(Fact(SERVER, "likes tea", USER))
            await db.memory.add(Exchange(7, USER, "What is tea?", "A drink."), keep=9, days=9)
            await db.turns.remember(TurnRecord(7, SERVER, USER, 1, "Ren", (2,)))
            await db.keys.add(KeyRecord(SERVER, "openai", "sk-very-secret"))

    asyncio.run(fill())
    return path


def exported(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, list[object]]:
    assert cli.main(["data", "export", *args]) == 0
    records: dict[str, list[object]] = json.loads(capsys.readouterr().out)["records"]
    return records


def test_a_user_is_exported(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["data", "export", "--user", str(USER)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["user_id"] == str(USER)
    assert set(document["records"]) == {"exchanges", "facts", "turns", "turn_messages"}
    assert document["records"]["exchanges"][0]["asked"] == "What is tea?"


def test_a_server_is_exported_without_its_keys(capsys: pytest.CaptureFixture[str]) -> None:
    records = exported(capsys, "--server", str(SERVER))
    assert len(records["api_keys"]) == 1
    assert "token" not in str(records["api_keys"])


def test_into_a_file_that_only_the_operator_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "user.json"
    assert cli.main(["data", "export", "--user", str(USER), "--out", str(out)]) == 0
    told = capsys.readouterr()
    assert (told.out, "4 records in" in told.err) == ("", True)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert json.loads(out.read_text())["records"]["facts"][0]["text"] == "likes tea"


def test_a_dry_run_deletes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["data", "delete", "--user", str(USER), "--dry-run"]) == 0
    assert capsys.readouterr().out.endswith(f"would delete 4 records of user {USER}\n")
    assert len(exported(capsys, "--user", str(USER))) == 4


@pytest.mark.parametrize(("option", "subject"), [("--user", USER), ("--server", SERVER)])
def test_deleted(option: str, subject: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["data", "delete", option, str(subject), "--yes"]) == 0
    assert "deleted 1 of exchanges\n" in capsys.readouterr().out
    assert exported(capsys, option, str(subject)) == {}


def test_without_a_terminal_it_must_be_said_twice(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["data", "delete", "--user", str(USER)]) == 2
    assert "add --yes" in capsys.readouterr().err
    assert len(exported(capsys, "--user", str(USER))) == 4


@pytest.mark.parametrize(("answer", "status", "left"), [(b"n\n", 130, 4), (b"y\n", 0, 0)])
def test_on_a_terminal_it_is_asked(
    answer: bytes, status: int, left: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, answer)
    done = subprocess.run(
        [*OSHABERI, "data", "delete", "--user", str(USER)],
        stdin=theirs,
        capture_output=True,
        env=environment(tmp_path, OSHABERI_SECRET_KEY=KEY),
        timeout=60,
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == status, done
    assert b"Delete everything about user 123?" in done.stderr
    assert len(exported(capsys, "--user", str(USER))) == left


def test_backups_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backup = tmp_path / "oshaberi.db.0004-20261116T120000Z.backup"
    place_database(backup)
    assert cli.main(["data", "delete", "--user", str(USER), "--yes"]) == 0
    told = capsys.readouterr().err
    assert f"also deleted in the backup {backup}" in told
    assert "restart" not in told


def test_a_running_bot_must_be_restarted_if_it_has_it_in_memory(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["data", "delete", "--server", str(SERVER), "--dry-run"]) == 0
    assert "restart" not in capsys.readouterr().err
    assert cli.main(["data", "delete", "--server", str(SERVER), "--yes"]) == 0
    assert "still has it in memory: restart it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["export"], "give either --user ID or --server ID"),
        (["export", "--user", "1", "--server", "2"], "give either --user ID or --server ID"),
        (["delete", "--user", "me"], "'me' is not a valid integer"),
        (["delete", "--user", "0", "--yes"], "0 is not in the range"),
        (["export", "--user", "1", "--out", "no/such/folder"], "cannot be written"),
    ],
)
def test_bad_input(args: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["data", *args]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert reason in err


def test_a_database_that_is_not_there_is_not_made(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for one in file.parent.glob("oshaberi.db*"):
        one.unlink()
    assert cli.main(["data", "export", "--user", "1"]) == 2
    assert "run `oshaberi db upgrade`" in capsys.readouterr().err
    assert not file.exists()
    asyncio.run(upgrade(f"sqlite:///{file}", to="0004"))
    assert cli.main(["data", "export", "--user", "1"]) == 2
    assert "is not up to date" in capsys.readouterr().err


def test_a_server_moves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = tmp_path / "server.zip"
    export = ["data", "export", "--server", str(SERVER), str(archive)]
    asyncio.run(with_persona(tmp_path / "oshaberi.db"))
    assert cli.main(export) == 0
    told = capsys.readouterr()
    assert told.out == f"wrote 1 persona to {archive}\n"
    assert "not in it: " in told.err
    assert "1 of api_keys" in told.err
    assert "facts are about people: add --memories" in told.err
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    assert cli.main(export) == 2
    assert capsys.readouterr().err == f"oshaberi: {archive}: exists already; name a new file\n"
    bring = ["data", "import", str(archive), "--server", "789"]
    assert cli.main([*bring, "--dry-run"]) == 0
    told = capsys.readouterr()
    assert told.out == "  persona Taro\nwould bring in 1 persona\n"
    assert "nothing was changed" in told.err
    assert cli.main(bring) == 0
    assert capsys.readouterr().out.endswith("brought in 1 persona\n")
    assert cli.main(bring) == 2
    told_twice = capsys.readouterr().err
    assert "the server has 1 persona already: add --merge" in told_twice
    assert told_twice.count("\n") == 1
    assert cli.main([*bring, "--replace"]) == 0
    assert capsys.readouterr().out.startswith("deleted 1 persona of the server\n")


def test_memories_come_only_if_both_sides_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "server.zip"
    assert cli.main(["data", "export", "--server", str(SERVER), str(archive), "--memories"]) == 0
    assert cli.main(["data", "import", str(archive), "--server", "789"]) == 0
    assert "does not come: 1 fact: personal data, add --memories" in capsys.readouterr().err
    assert cli.main(["data", "import", str(archive), "--server", "789", "--memories"]) == 0
    assert capsys.readouterr().out == "brought in 1 fact\n"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["export", "--user", "1", "x.zip"], "an ARCHIVE is of a server: give --server ID"),
        (["export", "--server", "1", "x.zip", "--out", "y"], "give either ARCHIVE or --out FILE"),
        (["export", "--server", "1", "--memories"], "--memories needs an ARCHIVE"),
        (["export", "--server", "1", "missing/x.zip"], "missing/x.zip: cannot be written: No such"),
        (["import", "bad.zip", "--merge", "--replace"], "give either --merge or --replace"),
        (["import", "bad.zip"], "bad.zip: the archive is cut off: download it again"),
        (["import", "missing.zip"], "missing.zip"),
    ],
)
def test_what_does_not_fit_is_one_line(
    args: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.zip").write_bytes(b"no")
    assert cli.main(["data", *args]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert not (tmp_path / "x.zip").exists()


async def with_persona(path: Path) -> None:
    async with Database.open(f"sqlite:///{path}", SecretVault([KEY])) as db:
        await db.personas.save(PersonaRecord(SERVER, "Taro", "Be kind."))
