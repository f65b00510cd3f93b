"""docs/bot-commands.md has every command as it is. `make generate` writes it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from discord import app_commands

from oshaberi.bot.commands import COMMANDS, DescribedCommand, describe_commands
from oshaberi.bot.commands.help_command import list_commands

PAGE = Path(__file__).parents[2] / "docs" / "bot-commands.md"
BEGIN, END = "<!-- commands -->\n", "<!-- end -->"


def _row(command: DescribedCommand) -> str:
    name = " ".join((command.name, *command.options))
    who = "Manage Server" if command.for_managers else "everybody"
    return f"| `{name}` | {command.what} | {who} |"


def page(text: str) -> str:
    """With its tables as the commands are."""
    slash = [_row(one) for one in describe_commands() if one.name.startswith("/")]
    rows = "\n".join(["| command | what | seen by |", "|---|---|---|", *slash])
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{BEGIN}{rows}\n{end}{after}"


def test_the_page_has_every_command() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text), "run: make generate"


def test_the_page_has_every_entry_of_the_menu() -> None:
    text = PAGE.read_text(encoding="utf-8")
    menu = [one.name for one in describe_commands() if not one.name.startswith("/")]
    assert len(menu) == 5
    assert [name for name in menu if f"**{name}**" not in text] == []


def test_help_names_every_slash_command() -> None:
    slash = [one for one in COMMANDS if not isinstance(one, app_commands.ContextMenu)]
    lines = list_commands(slash).splitlines()
    assert set(re.findall(r"`(/\w+)`", "\n".join(lines))) == {f"/{one.name}" for one in slash} - {
        "/help"
    }
    assert lines[0] == "- `/stop`: Stop the current answer in this channel"
    assert lines[-1].startswith(
        "- `/config`, `/channel`, `/tools`, `/model`, `/persona`, `/sprite`, `/lore`:"
    )


@pytest.mark.parametrize("command", describe_commands(), ids=lambda one: one.name)
def test_every_option_is_described(command: DescribedCommand) -> None:
    assert command.what or not command.name.startswith("/")
    for leaf in _leaves(command.name):
        assert [o.name for o in leaf.parameters if str(o.description) in ("", "…")] == []


def _leaves(name: str) -> list[app_commands.Command[Any, ..., Any]]:
    found = []
    for command in COMMANDS:
        if isinstance(command, app_commands.ContextMenu):
            continue
        nested = command.walk_commands() if isinstance(command, app_commands.Group) else [command]
        found += [
            leaf
            for leaf in nested
            if isinstance(leaf, app_commands.Command) and f"/{leaf.qualified_name}" == name
        ]
    return found
