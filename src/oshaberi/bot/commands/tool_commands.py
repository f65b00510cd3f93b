"""`/tools`: which tools the model gets here, and which of them ask a person first.

The lists are settings (`allowed_tools`, `blocked_tools`, `asking_tools`) and options of personas,
so they can also be changed with `/config` and `/persona set`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import Choices, answer, choices, plain
from oshaberi.bot.commands.command_context import (
    MANAGER,
    Chosen,
    CommandRefusedError,
    CommandUser,
    Interaction,
    PlaceOption,
    Where,
    asker_of,
    check_places,
    context_in,
    context_of,
    in_place,
)
from oshaberi.bot.commands.personas.persona_changes import persona_choices, persona_named
from oshaberi.bot.config import effective
from oshaberi.bot.config.server_settings import check_limit, nearest_values
from oshaberi.bot.conversation.persona_options import (
    checked_options,
    known_options,
    options_of,
)
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.tools.choice import (
    EVERYTHING,
    ToolLists,
    Tools,
    approver_of,
    broader,
    everything_from,
    is_chosen,
    is_listed,
    is_offered_by,
)
from oshaberi.bot.tools.definition import Tool
from oshaberi.bot.turns.services.model_access import WHOLE_SERVER
from oshaberi.discord_io.requests.parameters import shortened
from oshaberi.languages import translatable, translated

ASKS, LIMITED = "❓", "🔒"
MOST_QUOTED = 60
_LEGEND = translatable(
    "{asks} asks a person before each use; {limited} only for members with more permissions. "
    "`/tools allow` and `/tools deny` change this."
)


def is_entry(word: str, tools: Tools) -> bool:
    """Return whether a list can contain this: a tool, everything from one place, everything."""
    return word in {EVERYTHING, *tools, *(everything_from(one.source) for one in tools.values())}


def entry_of(typed: str, tools: Tools) -> str:
    """Return the list entry for what somebody typed. Raises if there is no such tool."""
    word = typed.strip().strip("`")
    if is_entry(word, tools):
        return word
    raise CommandRefusedError(
        translated(
            "There is no tool {name}; `/tools list` shows all.",
            name=plain(shortened(word, MOST_QUOTED)),
        )
    )


# -- changing ------------------------------------------------------------------------------------


async def switch_tool(
    context: BotContext,
    asker: CommandUser,
    typed: str,
    *,
    offer: bool,
    asks: bool | None = None,
    persona: str | None = None,
    where: Where = None,
) -> str:
    """Offer a tool, or all from one place, or stop offering it, from the next answer on."""
    asker.must_manage()
    tools = context.services.answer_tools.tools.all_tools()
    entry = entry_of(typed, tools)
    if persona is not None:
        if where is not None or asks is not None:
            raise CommandRefusedError(
                translated("A persona's tools are the same everywhere. Leave out `in` and `asks`.")
            )
        found = await persona_named(context, asker.server_id, persona)
        return await _switch_for_persona(context, asker, found, entry, tools, offer=offer)
    return await switch_in_server(
        context, asker.server_id, entry, tools, offer=offer, asks=asks, where=where
    )


async def switch_in_server(
    context: BotContext,
    server_id: int,
    entry: str,
    tools: Tools,
    *,
    offer: bool,
    asks: bool | None = None,
    where: Where = None,
) -> str:
    """Change the lists of a server or channel. The caller checks who may do this."""
    stored = await context.db.servers.settings(server_id)
    check_places(stored.channels, where)
    layers = stored.layers(() if where is None else where.ids)
    before = stored_lists(nearest_values(*layers))
    after = _changed(before, entry, tools, offer=offer)
    if asks is not None:
        if not asks:
            _check_not_covered(before.asking, entry, tools)
        after = after.asking_for(entry, tools, asks=asks)
    place_id = WHOLE_SERVER if where is None else where.channel_id
    changes = _differences(before, after)
    for key, value in changes.items():
        check_limit(context.settings(), key, value)
    for key, value in changes.items():
        await context.db.servers.set_config(server_id, key, value, place_id)
    now = effective(context.settings(), changes, *layers).turn
    return _told(entry, tools, now, offer=offer, place=in_place(where))


async def _switch_for_persona(
    context: BotContext,
    asker: CommandUser,
    persona: PersonaRecord,
    entry: str,
    tools: Tools,
    *,
    offer: bool,
) -> str:
    options = options_of(persona)
    before = ToolLists(options.allowed_tools, options.blocked_tools)
    after = _changed(before, entry, tools, offer=offer)
    lists = {"allowed_tools": list(after.allowed), "blocked_tools": list(after.blocked)}
    stored = checked_options({**known_options(persona), **lists})
    await context.db.personas.save(replace(persona, options=stored))
    context.personas_changed(asker.server_id)
    name = plain(persona.name)
    if offer:
        return translated(
            "**{name}** uses {tool} where the channel has it.", name=name, tool=f"`{entry}`"
        )
    return translated("**{name}** does not use {tool} any more.", name=name, tool=f"`{entry}`")


def _changed(before: ToolLists, entry: str, tools: Tools, *, offer: bool) -> ToolLists:
    if not offer:
        return before.without_tool(entry, tools)
    _check_not_covered(before.blocked, entry, tools)
    return before.with_tool(entry, tools)


def _check_not_covered(entries: Sequence[str], entry: str, tools: Tools) -> None:
    """Refuse to take one tool out of an entry that stands for many."""
    wider = broader(entries, entry, tools) if entry != EVERYTHING else None
    if wider is not None:
        raise CommandRefusedError(
            translated(
                "{tool} is part of {wider}. Change that first.",
                tool=f"`{entry}`",
                wider=f"`{wider}`",
            )
        )


def stored_lists(values: Mapping[str, Any]) -> ToolLists:
    """Return the lists among the stored settings of a place."""
    found = (values.get(key, ()) for key in ("allowed_tools", "blocked_tools", "asking_tools"))
    return ToolLists(*(tuple(one) if isinstance(one, list | tuple) else () for one in found))


def _differences(before: ToolLists, after: ToolLists) -> dict[str, Any]:
    """Return the settings that change."""
    lists = ("allowed", "blocked", "asking")
    return {
        f"{one}_tools": list(getattr(after, one))
        for one in lists
        if getattr(after, one) != getattr(before, one)
    }


def _told(entry: str, tools: Tools, now: TurnConfig, *, offer: bool, place: str) -> str:
    """Say what applies now. The operator's lists apply in addition to the server's."""
    meant = {name: one for name, one in tools.items() if is_listed((entry,), name, one.source)}
    tool = f"`{entry}`"
    if not offer:
        return translated("{tool} is not offered any more{where}.", tool=tool, where=place)
    if any(not is_offered_by(now, name, one) for name, one in meant.items()):
        return translated(
            "{tool}: allowed{where}, but whoever runs the bot does not offer all of it.",
            tool=tool,
            where=place,
        )
    if meant and all(approver_of(name, one, now) for name, one in meant.items()):
        return translated(
            "{tool} is offered{where}, and asks a person before each use.", tool=tool, where=place
        )
    return translated("{tool} is offered{where}.", tool=tool, where=place)


# -- listing -------------------------------------------------------------------------------------


async def list_tools(
    context: BotContext, asker: CommandUser, persona: str | None = None, where: Where = None
) -> str:
    """List all tools by where they come from, including those that are not offered."""
    asker.must_manage()
    stored = await context.db.servers.settings(asker.server_id)
    path = asker.path if where is None else where
    turn = effective(context.settings(), *stored.layers(path.ids)).turn
    found = None if persona is None else await persona_named(context, asker.server_id, persona)
    by_source: dict[str, dict[str, Tool]] = {}
    for name, one in context.services.answer_tools.tools.all_tools().items():
        by_source.setdefault(one.source, {})[name] = one
    lines = [_lines_of(source, tools, turn, found) for source, tools in by_source.items()]
    return "\n".join([*lines, translated(_LEGEND, asks=ASKS, limited=LIMITED)])


def _lines_of(
    source: str, tools: Mapping[str, Tool], turn: TurnConfig, persona: PersonaRecord | None
) -> str:
    offered = {name: one for name, one in tools.items() if _is_offered(name, one, turn, persona)}
    others = ", ".join(f"`{name}`" for name in tools if name not in offered)
    shown = ", ".join(_marked(name, one, turn) for name, one in offered.items())
    lines = [f"**{plain(source)}** (`{everything_from(source)}`)"]
    if shown:
        lines.append(translated("Offered: {tools}", tools=shown))
    if others:
        lines.append(translated("Not offered: {tools}", tools=others))
    return "\n".join(lines)


def _is_offered(name: str, tool: Tool, turn: TurnConfig, persona: PersonaRecord | None) -> bool:
    if not is_offered_by(turn, name, tool):
        return False
    if persona is None:
        return True
    options = options_of(persona)
    return is_chosen(name, tool.source, options.allowed_tools, options.blocked_tools)


def _marked(name: str, tool: Tool, turn: TurnConfig) -> str:
    asks = ASKS if approver_of(name, tool, turn) is not None else ""
    limited = LIMITED if tool.permission != "everyone" else ""
    return f"`{name}`{asks}{limited}"


# -- commands ------------------------------------------------------------------------------------


_ONLY_IN = translatable("Only in this channel, thread or category")
_WHICH = translatable("Its name, or everything from one place")
tools_group = app_commands.Group(
    name="tools", description="Which tools the model gets here", default_permissions=MANAGER
)


@tools_group.command(name="list", description="List all tools, and which of them are offered here")
@app_commands.rename(place="in")
@app_commands.describe(
    persona="As this persona has them",
    place="In this channel, thread or category; where you are if left out",
)
async def list_(
    interaction: Interaction, persona: Chosen | None = None, place: PlaceOption | None = None
) -> None:
    context, asker, where = context_in(interaction, place)
    await answer(interaction, list_tools(context, asker, persona, where))


@tools_group.command(description="Offer a tool again, here or to one persona")
@app_commands.rename(place="in")
@app_commands.describe(
    tool=_WHICH,
    asks="Whether a person must allow each use",
    persona="Only for this persona",
    place=_ONLY_IN,
)
async def allow(
    interaction: Interaction,
    tool: Chosen,
    asks: bool | None = None,
    persona: Chosen | None = None,
    place: PlaceOption | None = None,
) -> None:
    context, asker, where = context_in(interaction, place)
    work = switch_tool(context, asker, tool, offer=True, asks=asks, persona=persona, where=where)
    await answer(interaction, work)


@tools_group.command(description="Offer a tool no more, here or to one persona")
@app_commands.rename(place="in")
@app_commands.describe(tool=_WHICH, persona="Only for this persona", place=_ONLY_IN)
async def deny(
    interaction: Interaction,
    tool: Chosen,
    persona: Chosen | None = None,
    place: PlaceOption | None = None,
) -> None:
    context, asker, where = context_in(interaction, place)
    work = switch_tool(context, asker, tool, offer=False, persona=persona, where=where)
    await answer(interaction, work)


@allow.autocomplete("tool")
@deny.autocomplete("tool")
async def _tool_names(interaction: Interaction, typed: str) -> Choices:
    if not asker_of(interaction).may_manage:
        return []
    tools = context_of(interaction).services.answer_tools.tools.all_tools()
    sources = dict.fromkeys(everything_from(one.source) for one in tools.values())
    return choices(typed, ((one, one) for one in (*tools, *sources, EVERYTHING)))


@list_.autocomplete("persona")
@allow.autocomplete("persona")
@deny.autocomplete("persona")
async def _persona_names(interaction: Interaction, typed: str) -> Choices:
    return await persona_choices(context_of(interaction), asker_of(interaction).server_id, typed)


COMMANDS = (tools_group,)
