"""Remembers what endpoints refused, by address and model, while the process runs.

All adapters of a process share one object: the code that makes the adapters owns it and passes it
in.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from oshaberi.chunks import MOST_TOKENS
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.capabilities.token_calibration import TokenCalibration

log = logging.getLogger(__name__)

MOST_PLACES = 1000
MOST_LESSONS = 20
"""How many lessons are kept for one place: more than there are rules that teach one."""
POSSIBLE: Mapping[str, tuple[int, int]] = {
    "output_limit": (16, MOST_TOKENS),
    "smallest_budget": (0, 1_000_000),
    "largest_budget": (1, MOST_TOKENS),
    "stop_strings": (0, 1000),
}
"""The numbers that an error message can teach. Others would spoil every later request."""


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
        self._lessons: OrderedDict[ModelPlace, list[Lesson]] = OrderedDict()
        self._doubted: OrderedDict[ModelPlace, None] = OrderedDict()

    def applied(self, place: ModelPlace, capabilities: ModelCapabilities) -> ModelCapabilities:
        """Return a model's capabilities, changed by its lessons."""
        for lesson in self._lessons.get(place, ()):
            capabilities = lesson.applied(capabilities)
        return capabilities

    def is_possible(self, place: ModelPlace, lesson: Lesson) -> bool:
        """Tell whether a lesson can be right. The first impossible one of a place is logged."""
        wrong = [name for name, value in lesson.changes.items() if not _fits(name, value)]
        if wrong and place not in self._doubted:
            log.warning(
                "%s %s: not learned, because it cannot be: %s",
                place.provider,
                place.model,
                lesson.text[:200],
            )
            self._doubted[place] = None
            _drop_oldest(self._doubted)
        return not wrong

    def learn(self, place: ModelPlace, lesson: Lesson) -> None:
        """Add a lesson; the latest has priority. A known lesson is not logged again."""
        known = self._lessons.setdefault(place, [])
        if lesson in known:
            known.remove(lesson)
            known.append(lesson)
            return
        known.append(lesson)
        del known[:-MOST_LESSONS]
        self._lessons.move_to_end(place)
        _drop_oldest(self._lessons)
        log.warning("%s %s: %s", place.provider, place.model, lesson.text)

    def told(self, place: ModelPlace) -> tuple[str, ...]:
        """Return the lessons of a model as texts."""
        return tuple(lesson.text for lesson in self._lessons.get(place, ()))


def _fits(name: str, value: Any) -> bool:
    least, most = POSSIBLE.get(name, (0, 0))
    return name not in POSSIBLE or value is None or least <= value <= most


def _drop_oldest(places: OrderedDict[ModelPlace, Any]) -> None:
    if len(places) > MOST_PLACES:
        places.popitem(last=False)
