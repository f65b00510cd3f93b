"""The bot's commands, as data: one file per group, one table of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from discord import app_commands

from oshaberi.bot.commands import (
    config,
    control,
    helping,
    keys,
    memory,
    menus,
    personas,
    sprites,
    status,
)
from oshaberi.bot.commands.answers import Tree
from oshaberi.bot.commands.desk import Command, Desk, RefusedError

__all__ = ["COMMANDS", "Described", "Desk", "RefusedError", "Tree", "described"]

Registered = Command | app_commands.Group | app_commands.ContextMenu

COMMANDS: tuple[Registered, ...] = (
    *helping.COMMANDS,
    *control.COMMANDS,
    *status.COMMANDS,
    *memory.COMMANDS,
    *config.COMMANDS,
    *keys.COMMANDS,
    *personas.COMMANDS,
    *sprites.COMMANDS,
    *menus.COMMANDS,
)


@dataclass(frozen=True, slots=True)
class Described:
    """One command as its documentation has it."""

    name: str
    options: tuple[str, ...]
    """Those in brackets may be left out."""
    what: str
    for_managers: bool = False
    """Discord shows it only to members with Manage Server."""


def described() -> tuple[Described, ...]:
    return tuple(entry for command in COMMANDS for entry in _entries(command))


def _entries(command: Registered) -> Iterator[Described]:
    if isinstance(command, app_commands.ContextMenu):
        yield Described(command.name, (), "")
        return
    leaves = command.walk_commands() if isinstance(command, app_commands.Group) else (command,)
    for leaf in leaves:
        if isinstance(leaf, app_commands.Command):
            options = tuple(_option(option) for option in leaf.parameters)
            managers = command.default_permissions is not None
            yield Described(f"/{leaf.qualified_name}", options, leaf.description, managers)


def _option(option: app_commands.Parameter) -> str:
    return option.name if option.required else f"[{option.name}]"
