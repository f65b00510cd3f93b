"""Remembers what endpoints refused, by address and model, while the process runs.

All adapters of a process share one object: the code that makes the adapters owns it and passes it
in.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.capabilities.token_calibration import TokenCalibration

log = logging.getLogger(__name__)


class ModelPlace(NamedTuple):
    """Where a lesson applies: a provider, its address and a model."""

    provider: str
    base_url: str | None
    model: str


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a refusal taught: changed fields of `ModelCapabilities`, and a text for the log.

    `left_out` are fields of the body that are no longer sent. A lesson that is not `lasting`
    applies to this request only.
    """

    text: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    lasting: bool = True

    def applied(self, capabilities: ModelCapabilities) -> ModelCapabilities:
        left_out = capabilities.left_out | self.left_out
        return replace(capabilities, **{**self.changes, "left_out": left_out})


class LearnedLimits:
    """The lessons by place, each logged once at WARNING; and how each place counts tokens."""

    def __init__(self) -> None:
        self.tokens: TokenCalibration[ModelPlace] = TokenCalibration()
        self._lessons: dict[ModelPlace, list[Lesson]] = {}

    def applied(self, place: ModelPlace, capabilities: ModelCapabilities) -> ModelCapabilities:
        """Return a model's capabilities, changed by its lessons."""
        for lesson in self._lessons.get(place, ()):
            capabilities = lesson.applied(capabilities)
        return capabilities

    def learn(self, place: ModelPlace, lesson: Lesson) -> None:
        """Add a lesson; the latest has priority. A known lesson is not logged again."""
        known = self._lessons.setdefault(place, [])
        if lesson in known:
            known.remove(lesson)
            known.append(lesson)
            return
        known.append(lesson)
        log.warning("%s %s: %s", place.provider, place.model, lesson.text)

    def told(self, place: ModelPlace) -> tuple[str, ...]:
        """Return the lessons of a model as texts."""
        return tuple(lesson.text for lesson in self._lessons.get(place, ()))
