"""`run` ends with 75 if starting it again later can help, and with 78 if it cannot.

Every other command ends with 2, whatever is wrong with what it was given.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from oshaberi import cli
from oshaberi.bot.storage.errors import StorageAwayError, StorageError
from oshaberi.bot.storage.leases import sole_owner
from oshaberi.cli.command_group import BAD_INPUT, CONFIGURATION, TEMPORARY, status_of
from oshaberi.errors import AddressUnavailableError, ConfigError, OshaberiError, TemporaryError

NOBODY = "redis://127.0.0.1:1/0"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OSHABERI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("OSHABERI_DISCORD_TOKEN", "no.real.token")


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def ended(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    """The status and the one line on stderr."""
    status = cli.main(args)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("oshaberi: ")
    return status, line


STAYS = {
    "OSHABERI_HUMANIZER_DEGREE": "9",
    "OSHABERI_HUMANISER": "1",
    "OSHABERI_DATABASE_URL": "mysql://me@db/x",
    "OSHABERI_SECRET_KEY": "no key",
    "OSHABERI_TOOLS": "no_such_module_anywhere",
    "OSHABERI_CONFIG": "no_such_file.toml",
    "OSHABERI_DISPLAY_MODE": "hologram",
}


@pytest.mark.parametrize("variable", STAYS)
def test_what_somebody_must_change_is_78(
    variable: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, STAYS[variable])
    assert ended(capsys, "run")[0] == 78


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OSHABERI_DATABASE_URL", "postgresql://me@127.0.0.1:1/x"),
        ("OSHABERI_DATABASE_URL", "postgresql://me@/x?host=/nowhere/at/all"),
        ("OSHABERI_REDIS_URL", NOBODY),
    ],
)
def test_what_does_not_answer_is_75(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, value)
    assert ended(capsys, "run")[0] == 75


def test_a_port_that_is_in_use_is_75(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with taken_port() as port:
        monkeypatch.setenv("OSHABERI_HEALTH_PORT", str(port))
        status, line = ended(capsys, "run")
    assert (status, f"health_port: {port}" in line) == (75, True)


def test_a_database_that_another_process_uses_is_75(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with sole_owner(f"sqlite:///{tmp_path}/data/oshaberi.db", "main"):
        status, line = ended(capsys, "run")
    assert (status, "another oshaberi runs" in line) == (75, True)


TOKEN = "OSHABERI_DISCORD_TOKEN"


@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        ({}, "is missing; set OSHABERI_DISCORD_TOKEN"),
        ({TOKEN: ""}, "is empty (from OSHABERI_DISCORD_TOKEN)"),
        ({TOKEN: "  "}, "is empty (from OSHABERI_DISCORD_TOKEN)"),
        ({"DISCORD_TOKEN": "x"}, "DISCORD_TOKEN is set, but the bot reads OSHABERI_DISCORD_TOKEN"),
        ({"BOT_TOKEN": "x", TOKEN: ""}, "BOT_TOKEN is set, but the bot reads OSHABERI_DISCORD_TO"),
    ],
)
def test_a_service_without_a_token_does_not_run_the_stage(
    environ: dict[str, str],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv(TOKEN)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    status, line = ended(capsys, "run", "--discord")
    assert status == 78
    assert line.startswith("oshaberi: discord_token: ")
    assert reason in line


def test_an_empty_token_in_the_file_is_78_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(TOKEN)
    (tmp_path / "oshaberi.toml").write_text('discord_token = ""\n')
    status, line = ended(capsys, "run", "--discord")
    assert (status, "discord_token" in line) == (78, True)


def test_options_are_typed_so_a_wrong_one_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(capsys, "run", "--speed", "0")[0] == 2
    assert ended(capsys, "--qqq", "run")[0] == 2


@pytest.mark.parametrize("args", [("config", "show"), ("db", "upgrade")])
def test_for_commands_that_are_typed_it_is_2(
    args: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OSHABERI_HUMANIZER_DEGREE", "9")
    assert ended(capsys, *args)[0] == 2


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ConfigError("x"), CONFIGURATION),
        (AddressUnavailableError("x"), TEMPORARY),
        (TemporaryError("Discord cannot be reached"), TEMPORARY),
        (StorageError("x"), CONFIGURATION),
        (StorageAwayError("x"), TEMPORARY),
        (OshaberiError("x"), CONFIGURATION),
        (PermissionError(13, "Permission denied"), CONFIGURATION),
        (OSError(28, "No space left on device"), TEMPORARY),
    ],
    ids=repr,
)
def test_the_kind_of_an_error_decides(error: OshaberiError | OSError, status: int) -> None:
    assert status_of(error, "run") == status
    assert status_of(error, "doctor") == BAD_INPUT


def test_the_page_has_every_status() -> None:
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    for status in (0, 1, 2, 70, 75, 78, 130, 141):
        assert f"| {status} |" in page
