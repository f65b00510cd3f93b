"""Every English sentence that can be translated, read from the sources and from the commands.

`make generate` brings the catalogues up to date: new sentences get
an empty translation, those that are gone are removed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from discord import app_commands

from oshaberi.bot.commands import COMMANDS
from oshaberi.bot.config import SERVER_KEYS
from oshaberi.bot.conversation.persona_options import OPTIONS as PERSONA_OPTIONS
from oshaberi.providers.model_options import OPTIONS

SOURCE = Path(__file__).parents[2] / "src" / "oshaberi"
FUNCTIONS = frozenset({"translated", "translatable", "translated_count", "Sentence"})
MessageId = str | tuple[str, str]


def sentences() -> set[MessageId]:
    """Return the ids of all messages; a counted one has two forms."""
    found = {one for path in SOURCE.rglob("*.py") for one in _said_in(path)}
    return found | set(spoken_by_commands()) | set(described_settings())


def described_settings() -> Iterator[str]:
    """What `/config`, `/model option` and `/persona set` say about each setting."""
    yield from (setting.what for setting in SERVER_KEYS.values())
    yield from (option.what for option in OPTIONS.values())
    yield from (option.metadata["what"] for option in PERSONA_OPTIONS.values())


def _said_in(path: Path) -> Iterator[MessageId]:
    text = path.read_text(encoding="utf-8")
    is_spoken = "languages import" in text or "Sentence(" in text
    if not is_spoken or path.parent.name == "languages" or path == SOURCE / "errors.py":
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "translated_count":
                one, many = (ast.literal_eval(argument) for argument in node.args[:2])
                yield one, many
            elif node.func.id in FUNCTIONS and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


def spoken_by_commands() -> Iterator[str]:
    """Descriptions and choices, as discord.py hands them to the translator."""
    waiting = list(COMMANDS)
    while waiting:
        command = waiting.pop()
        if isinstance(command, app_commands.ContextMenu):
            continue
        yield command.description
        if isinstance(command, app_commands.Group):
            waiting += command.commands
            continue
        for option in command.parameters:
            yield str(option.description)
            yield from (choice.name for choice in option.choices)


def updated(file: Path) -> str:
    """Return a catalogue with every sentence, and what it says already. Its head stays."""
    text = file.read_text(encoding="utf-8")
    head = text[: text.index("\n\n") + 2]
    old = read_po(BytesIO(text.encode()))
    new = Catalog(locale=file.stem.replace("-", "_"), fuzzy=False)
    for one in sorted(sentences(), key=str):
        known = old.get(one if isinstance(one, str) else one[0])
        new.add(one, known.string if known is not None else None)
    written = BytesIO()
    write_po(written, new, width=100, no_location=True, omit_header=True)
    return head + written.getvalue().decode()
