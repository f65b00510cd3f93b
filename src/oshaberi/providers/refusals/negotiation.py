"""One request and its refusals: each refusal changes the next attempt.

What an attempt proved is remembered when it is answered, not before. A refusal whose message says
what is wrong teaches a lesson (`lesson_rules`). One that names a field or a tool costs that alone;
for one that names nothing, `unnamed_fields` finds out over several requests what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from oshaberi.chunks import ProviderError
from oshaberi.providers.capabilities.learned import Doubt, Lesson
from oshaberi.providers.error_classification import ProviderFailure, names_the_model
from oshaberi.providers.refusals.lesson_rules import lessons
from oshaberi.providers.refusals.named_fields import (
    RETRIES,
    USEFUL,
    Refusal,
    named_parameters,
    named_tools,
)
from oshaberi.providers.refusals.unnamed_fields import (
    RequestAttempt,
    names_in,
    narrowing,
    tool_name,
    tools_in,
    unexplained,
    without_names,
)
from oshaberi.providers.request.model_request import Endpoint, place_of
from oshaberi.providers.request.parameters import known_capabilities

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
        """What the model takes in the next attempt."""
        self._endpoint = endpoint
        self._place = place_of(endpoint)
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
        if self._refusals > RETRIES or names_the_model(failure.body):
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
            # What the refused attempts seemed to prove may have had another reason.
            known = RequestAttempt(before.left_out, self._doubts)
            tools = frozenset(map(tool_name, offered))
            self._others = unexplained(known, optional, tools, failure.message, words)
        return self._others.pop(0) if self._others else None


def _without(guilty: Iterable[str], before: RequestAttempt, words: Doubt) -> RequestAttempt:
    """Leave out what the error names. Each name is a separate doubt."""
    found = [replace(words, names=frozenset({name})) for name in dict.fromkeys(guilty)]
    return RequestAttempt(before.left_out | frozenset(guilty), (*before.doubts, *found))
