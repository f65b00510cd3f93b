"""The bot's commands, and the table of all of them (`COMMANDS`).

- `command_context`: what a command works with, and what its user may do; `answers`: how a
  command answers, and in which language.
- `command_tree`: registers and runs the commands.
- `models`: `/model`; `personas`: `/persona` and `/sprite`; `lore_commands`: `/lore`, within
  `lore_limits`.
- `config_commands`: `/config`, with `config_answers`; `channel_commands`: `/channel`;
  `memory_commands`: `/memory`; `privacy_commands`: `/privacy`.
- `turn_commands`: `/stop`, `/continue`, `/regenerate`, and the context menu of a message;
  `answer_buttons`: the buttons under an answer.
- `tool_commands`: `/tools`; `tool_buttons`: the buttons of tools that ask first.
- `talk_commands`: `/new`, `/talk` and `/branch`.
- `schedule_commands`: `/schedule`, `/timezone` and `/birthday`.
- `help_command`, `status_command`, `usage_command`: `/help`, `/status`, `/usage`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import discord
from discord import app_commands

from oshaberi.bot.commands import (
    answer_buttons,
    channel_commands,
    config_commands,
    help_command,
    lore_commands,
    memory_commands,
    models,
    personas,
    privacy_commands,
    schedule_commands,
    status_command,
    talk_commands,
    tool_buttons,
    tool_commands,
    turn_commands,
    usage_command,
)
from oshaberi.bot.commands.command_context import Command, CommandRefusedError
from oshaberi.bot.commands.command_tree import BotCommandTree
from oshaberi.bot.commands.turn_commands import retry
from oshaberi.bot.turns.admission.questions import Claim
from oshaberi.discord_io.buttons import retry_item

__all__ = [
    "COMMANDS",
    "CommandRefusedError",
    "DescribedCommand",
    "bot_command_tree",
    "describe_commands",
]

Registered = Command | app_commands.Group | app_commands.ContextMenu

COMMANDS: tuple[Registered, ...] = (
    *help_command.COMMANDS,
    *turn_commands.TURN_COMMANDS,
    *talk_commands.COMMANDS,
    *schedule_commands.COMMANDS,
    *status_command.COMMANDS,
    *usage_command.COMMANDS,
    *memory_commands.COMMANDS,
    *privacy_commands.COMMANDS,
    *config_commands.COMMANDS,
    *channel_commands.COMMANDS,
    *tool_commands.COMMANDS,
    *models.COMMANDS,
    *personas.COMMANDS,
    *lore_commands.COMMANDS,
    *turn_commands.MENU_COMMANDS,
    *answer_buttons.MENU_COMMANDS,
)


def bot_command_tree(client: discord.Client, claim: Claim | None = None) -> BotCommandTree:
    """Return the tree of all commands for a client, with the buttons of messages."""
    tree = BotCommandTree(client, claim)
    for command in COMMANDS:
        tree.add_command(command)
    client.add_dynamic_items(retry_item(retry), answer_buttons.AnswerItem, tool_buttons.ToolItem)
    return tree


@dataclass(frozen=True, slots=True)
class DescribedCommand:
    """A command as the documentation shows it."""

    name: str
    options: tuple[str, ...]
    """The options; those in brackets are optional."""
    what: str
    for_managers: bool = False
    """Discord shows it only to members with Manage Server."""


def describe_commands() -> tuple[DescribedCommand, ...]:
    return tuple(entry for command in COMMANDS for entry in _entries(command))


def _entries(command: Registered) -> Iterator[DescribedCommand]:
    if isinstance(command, app_commands.ContextMenu):
        yield DescribedCommand(command.name, (), "")
        return
    leaves = command.walk_commands() if isinstance(command, app_commands.Group) else (command,)
    for leaf in leaves:
        if isinstance(leaf, app_commands.Command):
            options = tuple(_option(option) for option in leaf.parameters)
            managers = command.default_permissions is not None
            yield DescribedCommand(f"/{leaf.qualified_name}", options, leaf.description, managers)


def _option(option: app_commands.Parameter) -> str:
    """Return the option as it is shown to users: in brackets if it is optional."""
    name = str(option.display_name)
    return name if option.required else f"[{name}]"
