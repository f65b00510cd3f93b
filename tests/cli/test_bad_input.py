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


# Positional arguments, and texts that only the command can check.


DEEP = "[" * 100_000
POSITIONAL: tuple[tuple[str, ...], ...] = (
    ("chunk", "none.md"),
    ("chunk", "."),
    ("chunk", "a\0b"),
    ("chunk", "note.md", "another.md"),
    ("replay", "none.json"),
    ("replay", "."),
    ("replay", "note.md"),
    ("replay", "deep.json"),
    ("replay", "a\0b"),
    ("explain", "none.json"),
    ("explain", "note.md"),
    ("explain", "deep.json"),
    ("settings", "no_such_setting"),
    ("settings", "a\nb"),
    ("settings", "\ud800"),
    ("db", "backup", "."),
    ("db", "backup", "note.md"),
    ("db", "backup", "nowhere/copy.db"),
    ("db", "restore", "none.db"),
    ("db", "restore", "note.md"),
    ("db", "restore", "."),
    ("data", "export", "--server", "1", "note.md"),
    ("data", "export", "--server", "1", "nowhere/x.zip"),
    ("data", "export", "--user", "1", "x.zip"),
    ("data", "import", "none.zip"),
    ("data", "import", "."),
    ("data", "import", "note.md"),
    ("persona", "import", "none.png"),
    ("persona", "import", "note.md"),
    ("persona", "import", "deep.json"),
    ("persona", "import", "."),
    ("persona", "export", "Nobody", "--server", "1", "--out", "x.png"),
    ("persona", "export", "Nobody", "--server", "1", "--out", "x.txt"),
    ("persona", "export", "Nobody", "--server", "1", "--out", "nowhere/x.png"),
    ("stage", "exec", "none.py"),
    ("stage", "exec", "."),
    ("completion", "none"),
    ("completion", "bash", "zsh"),
)
TEXTS: tuple[tuple[str, ...], ...] = (
    ("chunk", "note.md", "--set", "no_equals"),
    ("chunk", "note.md", "--set", "no_such=1"),
    ("chunk", "note.md", "--set", "humanizer_degree=nine"),
    ("chunk", "note.md", "--set", "humanizer_degree=9"),
    ("chunk", "note.md", "--set", f"known={DEEP}"),
    ("chunk", "note.md", "--set", "=1"),
    ("record", "--out", "x.json", "--provider", "nobody", "--model", "m", "--prompt", "hi"),
    ("record", "--out", "x.json", "--provider", "openai", "--model", "", "--prompt", "hi"),
    ("record", "--out", "x.json", "--model", "m", "--base-url", "no address", "--prompt", "hi"),
    ("record", "--out", "x.json", "--model", "m", "--thinking", "a lot", "--prompt", "hi"),
    ("record", "--out", "x.json", "--model", "m", "--key-env", "NO_SUCH_KEY", "--prompt", "hi"),
    ("record", "--out", "nowhere/x.json", "--model", "m", "--prompt", "hi"),
    ("models", "--provider", "nobody"),
    ("models", "--provider", "openai", "--base-url", "no address"),
    ("models", "--provider", "openai", "--base-url", "ftp://x"),
    ("models", "--provider", "openai", "--key-env", "NO_SUCH_KEY"),
    ("init", "--yes"),
    ("init", "--yes", "--provider", "nobody"),
    ("init", "--yes", "--base-url", "no address"),
    ("run", "--record", "note.md"),
    ("record", "--out", "x.json", "--model", "m", "--prompt", "hi", "--set", "no_such=1"),
    ("data", "export", "--user", "1", "--out", "nowhere/x.json"),
    ("data", "import", "--server", "x", "note.md"),
    ("persona", "import", "--server", "x", "note.md"),
    ("bench", "--only", "nothing"),
    ("bench", "--only", ""),
    ("stage", "exec", "--permissions", "fly", "note.py"),
    ("stage", "exec", "--world", "none.json", "note.py"),
    ("stage", "exec", "--world", "deep.json", "note.py"),
    ("data", "delete", "--user", "1", "--server", "2", "--yes"),
    ("data", "delete", "--yes"),
    ("data", "export"),
)
FREE = {
    ("init", "--model"),
    ("init", "--persona"),
    ("record", "--system"),
    ("stage exec", "--token"),
}
"""Any text will do here."""
FILES = {"note.md": "Hello.\n", "note.py": "", "deep.json": DEEP}
ROWS = (*rows(), *POSITIONAL, *TEXTS)
"""`-` and a file that can be read are no bad input."""


def test_every_positional_argument_has_a_row() -> None:
    with_one = {
        words
        for words, command in commands()
        if any(isinstance(one, click.Argument) for one in command.params)
    }
    assert {
        words for words in with_one if any(row[: len(words)] == words for row in POSITIONAL)
    } == with_one


@pytest.mark.parametrize(
    ("options", "named"),
    [(["--provider", "nobody"], "nobody"), (["--base-url", "no address"], "no address")],
)
def test_init_looks_at_its_options_before_it_asks_anything(
    options: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["init", "--yes", *options]) == 2
    err = capsys.readouterr().err
    assert named in err
    assert "TOKEN" not in err


def test_every_option_with_a_text_has_a_row() -> None:
    missing = {
        (" ".join(words), flag)
        for words, command in commands()
        for option in command.params
        for flag in option.opts[:1]
        if isinstance(option, click.Option) and not option.is_flag and flag.startswith("--")
        if not bad_values(option)
        if not any(row[: len(words)] == words and flag in row[:-1] for row in (*TEXTS, *POSITIONAL))
    }
    assert missing <= FREE, "add a row, or say that any text will do"


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
    for key in ("OPENAI_API_KEY", "OSHABERI_DISCORD_TOKEN"):
        monkeypatch.delenv(key, raising=False)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
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
    assert {one.name for one in tmp_path.iterdir()} == set(FILES), "nothing was made"
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == FILES
