"""Finds what a server refuses without naming it: fields of the request, or single tools.

A request is tried again with less, and what helped is remembered as a `Doubt`: one of these is
refused. Each later request leaves out only half of a doubt, until one name is left. So nothing
innocent stays out for long, and one bad schema does not cost the other tools. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from oshaberi.providers.capabilities.learned import Doubt

Names = frozenset[str]
Doubts = tuple[Doubt, ...]

_ABOUT_TOOLS = re.compile(
    r"schema|\btools?\b|function|grammar|parser|input_schema|parameters", re.IGNORECASE
)


class RequestAttempt(NamedTuple):
    """A request without these names, and what is known if it is answered."""

    left_out: Names
    doubts: Doubts


# The names of what a body has: its fields, and its tools one by one.


def tool_name(name: str) -> str:
    """Return the name of a tool in a `Doubt`. Fields keep their own names."""
    return f"tool {name}"


def names_in(body: Mapping[str, Any]) -> Names:
    return frozenset([*body, *map(tool_name, tools_in(body))])


def tools_in(body: Mapping[str, Any]) -> list[str]:
    """Return the names of the tools in a body of any family, in order."""
    return [_name_of(tool) for tool in _declared(body.get("tools"))]


def without_names(body: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """Return the body without these fields and tools."""
    made = {name: value for name, value in body.items() if name not in names}
    if "tools" in made and any(tool_name(one) in names for one in tools_in(made)):
        made["tools"] = _remaining(made["tools"], names)
        if not made["tools"]:
            del made["tools"]
            made.pop("tool_choice", None)
    return made


def _declared(tools: Any) -> list[Mapping[str, Any]]:
    """Return the tools one by one. Gemini's are declared in groups."""
    found: list[Mapping[str, Any]] = []
    for tool in tools or ():
        found += tool.get("function_declarations") or [tool]
    return found


def _remaining(tools: Sequence[Mapping[str, Any]], names: Names) -> list[Mapping[str, Any]]:
    kept: list[Mapping[str, Any]] = []
    for tool in tools:
        group = tool.get("function_declarations")
        if group is None:
            kept += [] if tool_name(_name_of(tool)) in names else [tool]
        elif rest := [one for one in group if tool_name(_name_of(one)) not in names]:
            kept.append({**tool, "function_declarations": rest})
    return kept


def _name_of(tool: Mapping[str, Any]) -> str:
    function = tool.get("function")
    inner = function if isinstance(function, Mapping) else tool
    return str(inner.get("name") or tool.get("type") or "")


# Which attempts follow each other.


def narrowing(doubts: Doubts, sent: Names) -> list[RequestAttempt]:
    """Return the attempts for a request with these names, the one with the most in it first."""
    present = tuple(one for one in doubts if one.names & sent)
    all_out = frozenset(name for one in present for name in one.names) & sent
    chosen = next((one for one in present if not one.is_proven or len(one.names) > 1), None)
    if chosen is None:
        return [RequestAttempt(all_out, doubts)]
    here = chosen.names & sent
    if not chosen.is_proven or here != chosen.names:
        # Perhaps none of those that are in this request is refused.
        elsewhere = [replace(chosen, names=chosen.names - here)] if here != chosen.names else []
        proven = replace(chosen, names=here, is_proven=True)
        return [
            RequestAttempt(all_out - here, _replaced(doubts, chosen, *elsewhere)),
            RequestAttempt(all_out, _replaced(doubts, chosen, proven)),
        ]
    first, second = (replace(chosen, names=half) for half in _halves(here))
    return [
        RequestAttempt(all_out - second.names, _replaced(doubts, chosen, first)),
        RequestAttempt(all_out - first.names, _replaced(doubts, chosen, second)),
        RequestAttempt(all_out, _replaced(doubts, chosen, first, second)),
    ]


def unexplained(
    before: RequestAttempt, optional: Names, tools: Names, message: str, words: Doubt
) -> list[RequestAttempt]:
    """Return the attempts after a refusal that names nothing.

    First the optional fields and the tools are suspected separately, then together. `words` is a
    doubt without names: what the server said.
    """
    optional, tools = optional - before.left_out, tools - before.left_out

    def without(*guilty: Names, is_proven: bool = True) -> RequestAttempt:
        left_out = frozenset().union(before.left_out, *guilty)
        found = [replace(words, names=names, is_proven=is_proven) for names in guilty]
        return RequestAttempt(left_out, (*before.doubts, *found))

    halves = [half for half in _halves(tools) if half]
    by_fields = [without(optional)] if optional else []
    by_tools = [without(half) for half in halves]
    together = [without(*filter(None, [optional, *halves]), is_proven=False)]
    ordered = [*by_tools, *by_fields] if _ABOUT_TOOLS.search(message) else [*by_fields, *by_tools]
    return [*ordered, *(together if len(ordered) > 1 else [])]


def _replaced(doubts: Doubts, old: Doubt, *new: Doubt) -> Doubts:
    return tuple(one for found in doubts for one in (new if found is old else (found,)))


def _halves(names: Names) -> tuple[Names, Names]:
    ordered = sorted(names)
    middle = (len(ordered) + 1) // 2
    return frozenset(ordered[:middle]), frozenset(ordered[middle:])
