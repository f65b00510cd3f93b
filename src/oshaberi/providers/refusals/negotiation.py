"""One request and its refusals: each refusal changes the next attempt.

What an attempt proved is remembered once it is answered. A refusal whose message says what is wrong
teaches a lesson (`lesson_rules`). If it names a field or a tool, only that is left out; if it names
nothing, several requests find the culprit (`narrowing`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from oshaberi.chunks import ProviderError
from oshaberi.providers.capabilities.learned import Doubt, Lesson
from oshaberi.providers.error_classification import ProviderFailure, named_parameter
from oshaberi.providers.refusals.lesson_rules import lessons
from oshaberi.providers.refusals.named_fields import (
    RETRIES,
    USEFUL,
    Refusal,
    named_parameters,
    named_tools,
)
from oshaberi.providers.request.model_request import Endpoint
from oshaberi.providers.request.parameters import known_capabilities

# Finds what a server refuses without naming it: fields of the request, or single tools.
#
# A request is tried again with less in it, and what helped is remembered as a `Doubt`: one of these
# is refused. Each later request leaves out only half of a doubt, until one name is left. So nothing
# innocent is left out for long, and one bad schema does not cost the other tools. Pure.


Names = frozenset[str]
Doubts = tuple[Doubt, ...]

_ABOUT_TOOLS = re.compile(
    r"schema|\btools?\b|function|grammar|parser|input_schema|parameters", re.IGNORECASE
)


class RequestAttempt(NamedTuple):
    """A request without these names, and what an answer to it would prove."""

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
    """Return the attempts for a request with these names, the most complete one first."""
    present = tuple(one for one in doubts if one.names & sent)
    all_out = frozenset(name for one in present for name in one.names) & sent
    chosen = next((one for one in present if not one.is_proven or len(one.names) > 1), None)
    if chosen is None:
        return [RequestAttempt(all_out, doubts)]
    here = chosen.names & sent
    if not chosen.is_proven or here != chosen.names:
        # Perhaps nothing in this request is refused.
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
    doubt without names, with the server's words.
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


_SAYS_IT_ITSELF = frozenset({401, 402, 403, 408, 413, 429})
"""Statuses after which fewer parameters never help."""
_ABOUT_PARAMETERS = frozenset({None, 400, 404, 405, 406, 409, 415, 422, 501})
"""Statuses after which fewer parameters may help even if no field is named; None is an error event
of a stream."""
_LONGEST_SENTENCE = 300


class RequestNegotiation:
    """The attempts of one request. `mandatory` are the fields that are never left out."""

    def __init__(self, endpoint: Endpoint, family: str, mandatory: frozenset[str]) -> None:
        self.capabilities = known_capabilities(endpoint, family)
        """What the model accepts in the next attempt."""
        self._endpoint = endpoint
        self._place = endpoint.place
        self._mandatory = mandatory
        self._lessons: list[Lesson] = []
        self._refusals = 0
        self._doubts = endpoint.learned.doubts(self._place)
        self._attempt: RequestAttempt | None = None
        self._others: list[RequestAttempt] = []

    def reduced(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of the next attempt, without what is left out of it."""
        if self._attempt is None and not self._doubts:
            return dict(body)  # nearly every request
        if self._attempt is None:
            self._attempt, *self._others = narrowing(self._doubts, names_in(body))
        return without_names(body, self._attempt.left_out)

    def refused(
        self,
        failure: ProviderFailure,
        problem: ProviderError,
        sent: Mapping[str, Any],
        has_images: bool,
    ) -> bool:
        """Learn from a refusal. Return whether to ask once more."""
        if failure.kind is not None or failure.status in _SAYS_IT_ITSELF:
            return False
        self._refusals += 1
        if self._refusals > RETRIES or named_parameter(failure.body) == "model":
            return False
        refusal = Refusal(failure.message, failure.body, sent, self.capabilities, has_images)
        learned = self._endpoint.learned
        possible = (one for one in lessons(refusal) if learned.is_possible(self._place, one))
        lesson = next(possible, None)
        if lesson is not None:
            self._lessons.append(lesson)
            self.capabilities = lesson.applied(self.capabilities)
            return True
        attempt = self._with_less(failure, problem, sent)
        if attempt is None:
            return False
        self._attempt = attempt
        return True

    def accepted(self) -> None:
        """Remember what was proved, because the request was answered."""
        learned = self._endpoint.learned
        for lesson in self._lessons:
            if lesson.lasting:
                learned.learn(self._place, lesson)
        self._lessons.clear()
        if self._attempt is not None:
            learned.doubt(self._place, self._attempt.doubts)

    def _with_less(
        self, failure: ProviderFailure, problem: ProviderError, sent: Mapping[str, Any]
    ) -> RequestAttempt | None:
        """Return the next attempt after an error that no rule matches."""
        if failure.status not in _ABOUT_PARAMETERS or problem.retryable:
            return None
        optional = frozenset(sent) - self._mandatory - USEFUL
        named = named_parameters(failure.message, failure.body, optional | (USEFUL & sent.keys()))
        if problem.type != "api_error" and not (problem.type == "model_error" and named):
            return None
        told, shown = (said[:_LONGEST_SENTENCE] for said in (problem.message, problem.shown or ""))
        words = Doubt(told=told, shown=shown)
        offered = tools_in(sent)
        guilty = [*named, *map(tool_name, named_tools(failure.message, failure.body, offered))]
        before = self._attempt or RequestAttempt(frozenset(), ())
        if guilty:
            self._others = []
            return _without(guilty, before, words)
        if not self._others:
            # The refused attempts may have failed for another reason than it seemed.
            known = RequestAttempt(before.left_out, self._doubts)
            tools = frozenset(map(tool_name, offered))
            self._others = unexplained(known, optional, tools, failure.message, words)
        return self._others.pop(0) if self._others else None


def _without(guilty: Iterable[str], before: RequestAttempt, words: Doubt) -> RequestAttempt:
    """Leave out what the error names. Each name is a separate doubt."""
    found = [replace(words, names=frozenset({name})) for name in dict.fromkeys(guilty)]
    return RequestAttempt(before.left_out | frozenset(guilty), (*before.doubts, *found))
