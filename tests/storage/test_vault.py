"""Secrets: encrypted at rest, never shown, and keys that can be replaced."""

from __future__ import annotations

import asyncio
import logging
import re
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from oshaberi.bot.storage import Database, SecretVault, StorageError
from oshaberi.bot.storage.records import KeyRecord
from oshaberi.bot.storage.secret_vault import VARIABLE

from .scenario_database import KEY, ask, with_database

SECRET = "sk-very-secret-0123456789"
OLD, NEW = SecretVault.new_key(), SecretVault.new_key()


def keys_of(url: str, *keys: str) -> list[str]:
    async def main() -> list[str]:
        async with Database.open(url, SecretVault(keys)) as db:
            return [record.secret for record in await db.keys.of(1, "openai")]

    return asyncio.run(main())


def store(url: str, key: str = KEY) -> None:
    async def main() -> None:
        async with Database.open(url, SecretVault([key])) as db:
            await db.keys.add(KeyRecord(1, "openai", SECRET))

    asyncio.run(main())


def test_there_and_back() -> None:
    vault = SecretVault([KEY])
    token = vault.encrypt("秘密 \ud83d")
    assert "秘密" not in token
    assert vault.decrypt(token) == "秘密 \ud83d"


def test_the_database_never_sees_a_secret(url: str) -> None:
    store(url)
    (row,) = ask(url, "SELECT * FROM api_keys")
    assert SECRET not in str(row)
    assert "openai" in str(row)


def test_no_byte_of_it_is_in_the_files(tmp_path: Path) -> None:
    async def scenario(db: Database) -> None:
        await db.keys.add(KeyRecord(1, "openai", SECRET, label="find-this-label"))
        on_disk = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert b"find-this-label" in on_disk
        assert SECRET.encode() not in on_disk

    with_database(f"sqlite:///{tmp_path}/x.sqlite3", scenario)


def test_nothing_shows_it(url: str, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(db: Database) -> None:
        record = await db.keys.add(KeyRecord(1, "openai", SECRET))
        assert SECRET not in repr(record)
        with pytest.raises(StorageError) as caught:
            await db.keys.add(KeyRecord(2**70, "openai", SECRET))
        assert SECRET not in f"{caught.value} {caught.value.__cause__}"

    caplog.set_level(logging.DEBUG)
    with_database(url, scenario)
    assert SECRET not in caplog.text
    assert KEY not in repr(SecretVault([KEY]))


def test_a_wrong_key_is_told_at_the_start(url: str) -> None:
    store(url, OLD)
    with pytest.raises(StorageError, match="encrypted with another key") as caught:
        keys_of(url, NEW)
    assert "\n" not in str(caught.value)
    assert keys_of(url, OLD) == [SECRET]


def test_a_key_is_replaced(url: str) -> None:
    store(url, OLD)
    assert keys_of(url, NEW, OLD) == [SECRET]
    assert keys_of(url, NEW) == [SECRET], "it was encrypted anew, the old key is not needed"


def test_the_file_is_made_once_and_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "key"
    token = SecretVault.from_environment_or_file(path, {}).encrypt("x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]
    assert SecretVault.from_environment_or_file(path, {}).decrypt(token) == "x"


def test_two_makers_agree(tmp_path: Path) -> None:
    path = tmp_path / "key"
    vaults: list[SecretVault] = []
    start = threading.Barrier(8)

    def make() -> None:
        start.wait()
        vaults.append(SecretVault.from_environment_or_file(path, {}))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    token = vaults[0].encrypt("x")
    assert [vault.decrypt(token) for vault in vaults] == ["x"] * 8


def test_the_environment_comes_first(tmp_path: Path) -> None:
    vault = SecretVault.from_environment_or_file(tmp_path / "key", {VARIABLE: f"{NEW}, {OLD}"})
    assert not (tmp_path / "key").exists()
    assert vault.decrypt(SecretVault([OLD]).encrypt("x")) == "x"
    assert SecretVault([NEW]).decrypt(vault.encrypt("x")) == "x"
    assert not vault.is_current(SecretVault([OLD]).encrypt("x"))


def test_a_loose_file_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "key"
    path.write_text(KEY)
    path.chmod(0o644)
    SecretVault.from_environment_or_file(path, {})
    assert "chmod 600" in caplog.text


def test_what_is_no_key_is_refused_without_showing_it(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=VARIABLE) as caught:
        SecretVault.from_environment_or_file(tmp_path / "key", {VARIABLE: "hunter2"})
    assert "hunter2" not in str(caught.value)
    (tmp_path / "empty").touch(0o600)
    with pytest.raises(StorageError, match="has no key in it"):
        SecretVault.from_environment_or_file(tmp_path / "empty", {})
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=VARIABLE):
        SecretVault.from_environment_or_file(tmp_path / "file" / "key", {})


def test_the_command_of_the_page_makes_a_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "deploying.md").read_text(encoding="utf-8")
    command = re.search(r"To create a secret key: `([^`]+)`", page)
    assert command is not None
    made = subprocess.run(
        command[1], shell=True, capture_output=True, text=True, check=True, timeout=60
    )
    vault = SecretVault([made.stdout.strip()])
    assert vault.decrypt(vault.encrypt("sk-1")) == "sk-1"
