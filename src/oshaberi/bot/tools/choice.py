"""Which tools a server, a channel and a persona use, and which of them ask a person first.

A list names a tool, everything from one place (`files/*`), or everything (`*`). No name of a tool
contains those signs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.tools.definition import APPROVERS, Approver, Tool

EVERYTHING = "*"
Tools = Mapping[str, Tool]
"""Tools, by the names that models use."""


def everything_from(source: str) -> str:
    """Return the entry of a list that stands for all tools from one place."""
    return f"{source}/*"


def is_listed(entries: Collection[str], name: str, source: str) -> bool:
    """Return whether a list contains a tool."""
    return bool(entries) and not {EVERYTHING, name, everything_from(source)}.isdisjoint(entries)


def is_chosen(name: str, source: str, allowed: Collection[str], blocked: Collection[str]) -> bool:
    """Return whether two lists allow a tool. An empty `allowed` list allows all."""
    if is_listed(blocked, name, source):
        return False
    return not allowed or is_listed(allowed, name, source)


def is_offered_by(turn: TurnConfig, name: str, tool: Tool) -> bool:
    """Return whether the settings of a channel let a tool be used."""
    return is_chosen(name, tool.source, turn.allowed_tools, turn.blocked_tools)


def approver_of(name: str, tool: Tool, turn: TurnConfig) -> Approver | None:
    """Return who has to allow a tool: the smallest of the groups that tool and settings name."""
    named = [] if tool.asks is None else [tool.asks]
    if is_listed(turn.asking_tools, name, tool.source):
        named.append(cast(Approver, turn.tool_approver))
    return max(named, key=APPROVERS.index, default=None)


# Changing the lists.


@dataclass(frozen=True, slots=True)
class ToolLists:
    """The lists of one place or persona, as they are stored."""

    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    asking: tuple[str, ...] = ()

    def with_tool(self, entry: str, tools: Tools) -> ToolLists:
        """Return the lists after offering a tool, or all from one place."""
        blocked = without(self.blocked, entry, tools)
        if entry == EVERYTHING:
            return replace(self, allowed=(), blocked=())
        if not self.allowed or covers(self.allowed, entry, tools):
            return replace(self, blocked=blocked)
        return replace(self, blocked=blocked, allowed=(*self.allowed, entry))

    def without_tool(self, entry: str, tools: Tools) -> ToolLists:
        return replace(self, blocked=(*without(self.blocked, entry, tools), entry))

    def asking_for(self, entry: str, tools: Tools, *, asks: bool) -> ToolLists:
        rest = without(self.asking, entry, tools)
        return replace(self, asking=(*rest, entry) if asks else rest)


def covers(entries: Sequence[str], entry: str, tools: Tools) -> bool:
    """Return whether a list covers everything that an entry stands for."""
    if EVERYTHING in entries or entry in entries:
        return True
    return entry in tools and is_listed(entries, entry, tools[entry].source)


def without(entries: Iterable[str], entry: str, tools: Tools) -> tuple[str, ...]:
    """Return a list without an entry, and without the tools that the entry stands for."""
    return tuple(
        one
        for one in entries
        if one != entry and not (one in tools and is_listed((entry,), one, tools[one].source))
    )


def broader(entries: Iterable[str], entry: str, tools: Tools) -> str | None:
    """Return the entry of a list that covers this one and others, too; None if there is none."""
    source = tools[entry].source if entry in tools else entry.removesuffix("/*")
    wider = (EVERYTHING, everything_from(source))
    return next((one for one in entries if one in wider and one != entry), None)
