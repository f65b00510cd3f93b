"""Every command and every option refuses bad input: one line, status 2, nothing changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from oshaberi import cli
from oshaberi.cli.command_group import app

NUMBERS = ("x", "1e999", "-1", "99999999999999999999", "")
PLACES = (".", "nowhere/none.toml")
"""A folder; a file that is not there. `init` makes one that is not there."""


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with its words, groups opened."""
    context = click.Context(app)

    def within(
        words: tuple[str, ...], command: click.Command
    ) -> Iterator[tuple[tuple[str, ...], click.Command]]:
        if not isinstance(command, click.Group):
            yield words, command
            return
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from within((*words, name), inner)

    yield from within((), app)


def bad_values(option: click.Parameter) -> tuple[str, ...]:
    kind = option.type
    if isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        most = getattr(kind, "max", None)
        return NUMBERS if most is not None else ("x", "")
    if isinstance(kind, click.Choice):
        return ("neither", "")
    if isinstance(kind, click.Path) and option.name == "config_file":
        return PLACES
    return ()


def rows() -> Iterator[tuple[str, ...]]:
    for words, command in commands():
        yield (*words, "--no-such-option")
        for option in command.params:
            flags = [one for one in option.opts if one.startswith("--")]
            if not isinstance(option, click.Option) or not flags or option.is_flag:
                continue
            yield (*words, flags[0])  # without a value
            for value in bad_values(option):
                if words == ("init",) and value == PLACES[1]:
                    continue
                yield (*words, f"{flags[0]}={value}")


ROWS = tuple(rows())


def test_the_table_reaches_every_command() -> None:
    names = {row[0] for row in ROWS}
    assert names == set(app.list_commands(click.Context(app)))
    assert len(ROWS) > 60


def test_bad_input_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One test for all rows: each takes milliseconds, and a folder for each would take longer."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OSHABERI_DATA_DIR", str(tmp_path / "data"))
    wrong = []
    for row in ROWS:
        status = cli.main(list(row))
        out, err = capsys.readouterr()
        expected = (2, 78) if row[0] == "run" else (2,)
        lines = err.splitlines()
        is_told = len(lines) == 1 and lines[0].startswith("oshaberi: ")
        if row[0] == "doctor" and status == 1:
            is_told, expected = "✗ settings: " in out, (1,)
        if status not in expected or not is_told or "Traceback" in err:
            wrong.append((row, status, err[-200:]))
    assert wrong == []
    assert list(tmp_path.iterdir()) == [], "nothing was made"
