"""One request and its refusals: each refusal changes the next attempt.

The lessons are remembered when the changed request is answered, not before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oshaberi.chunks import ProviderError
from oshaberi.providers.capabilities.learned import Lesson
from oshaberi.providers.error_classification import ProviderFailure
from oshaberi.providers.refusals.reading import (
    RETRIES,
    USEFUL,
    Refusal,
    fewer_parameters,
    named_parameters,
)
from oshaberi.providers.refusals.rules import lessons
from oshaberi.providers.request.model_request import Endpoint, place_of
from oshaberi.providers.request.parameters import known_capabilities

_SAYS_IT_ITSELF = frozenset({401, 402, 403, 408, 413, 429})
"""Statuses after which fewer parameters never help."""
_ABOUT_PARAMETERS = frozenset({None, 400, 404, 405, 406, 409, 415, 422, 501})
"""Statuses after which fewer parameters may help even if no field is named; None is an error event
of a stream."""


class RequestNegotiation:
    """The attempts of one request. `mandatory` are the fields that are never left out."""

    def __init__(self, endpoint: Endpoint, family: str, mandatory: frozenset[str]) -> None:
        self.capabilities = known_capabilities(endpoint, family)
        self._endpoint = endpoint
        self._mandatory = mandatory
        self._lessons: list[Lesson] = []

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
        if len(self._lessons) == RETRIES:
            return False
        refusal = Refusal(failure.message, failure.body, sent, self.capabilities, has_images)
        learned, place = self._endpoint.learned, place_of(self._endpoint)
        possible = (one for one in lessons(refusal) if learned.is_possible(place, one))
        lesson = next(possible, None) or self._fewer(failure, problem, refusal)
        if lesson is None:
            return False
        self._lessons.append(lesson)
        self.capabilities = lesson.applied(self.capabilities)
        return True

    def accepted(self) -> None:
        """Remember the lessons, because the request was answered."""
        for lesson in self._lessons:
            if lesson.lasting:
                self._endpoint.learned.learn(place_of(self._endpoint), lesson)
        self._lessons.clear()

    def _fewer(
        self, failure: ProviderFailure, problem: ProviderError, refusal: Refusal
    ) -> Lesson | None:
        """Leave out the fields that the error names, or else the optional ones.

        This is for errors that no rule matches.
        """
        if failure.status not in _ABOUT_PARAMETERS or problem.retryable:
            return None
        named = named_parameters(failure.message, failure.body, refusal.sent)
        if problem.type != "api_error" and not (problem.type == "model_error" and named):
            return None
        fewer = fewer_parameters(refusal.sent, self._mandatory, failure.message, failure.body)
        if fewer is None:
            return None
        left_out = frozenset(refusal.sent.keys() - fewer.keys())
        # Useful fields (tools) are tried again with the next request.
        lasting = not left_out & USEFUL
        return Lesson(f"it is not sent {', '.join(sorted(left_out))}", {}, left_out, lasting)
