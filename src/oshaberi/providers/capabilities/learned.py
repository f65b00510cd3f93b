"""What endpoints have taught this process: refused fields, and how they count tokens."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

from oshaberi.checked_json import whole_count
from oshaberi.chunks import MOST_TOKENS
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities

# Corrects estimated token counts by what an API reported: per model, in this process.
#
# A count that cannot be right is dropped, so that one bad answer does not spoil the next ones.


log = logging.getLogger(__name__)

PlaceT = TypeVar("PlaceT")

SMALLEST_REQUEST = 200
"""Smaller requests are not compared: the API's additions outweigh their text."""
LEAST, MOST = 0.3, 3.0
LEAST_POSSIBLE, MOST_POSSIBLE = 0.05, 20.0
"""A count outside these is not a count of our request."""
MARGIN = 1.05
MOST_PLACES = 1000


class TokenCalibration(Generic[PlaceT]):
    """How many tokens a place counts for one token of our estimate. It is 1 until known."""

    def __init__(self) -> None:
        self._ratios: OrderedDict[PlaceT, float] = OrderedDict()
        self._doubted: OrderedDict[PlaceT, None] = OrderedDict()

    def note(self, place: PlaceT, estimated_tokens: int, counted_tokens: object) -> None:
        """Compare a request's estimate with the count that the API reported."""
        if estimated_tokens < SMALLEST_REQUEST or counted_tokens == 0:
            return
        counted = whole_count(counted_tokens)
        ratio = 0.0 if counted is None else counted / estimated_tokens
        if not LEAST_POSSIBLE <= ratio <= MOST_POSSIBLE:
            self._doubt(place, estimated_tokens, counted_tokens)
            return
        ratio = min(max(ratio, LEAST), MOST)
        known = self._ratios.get(place, ratio)
        _keep(self._ratios, place, (known + ratio) / 2)

    def ratio(self, place: PlaceT) -> float:
        known = self._ratios.get(place)
        return 1.0 if known is None else known * MARGIN

    def corrected(self, place: PlaceT, estimate: Callable[[str], int]) -> Callable[[str], int]:
        """Return `estimate`, corrected by how this place counts."""
        ratio = self.ratio(place)
        return estimate if ratio == 1.0 else lambda text: -int(-estimate(text) * ratio // 1)

    def _doubt(self, place: PlaceT, estimated_tokens: int, counted_tokens: object) -> None:
        """Log a count that cannot be right, once for each place."""
        if place not in self._doubted:
            log.warning(
                "%s counts %.40r tokens for about %d: its counts are not trusted",
                place,
                counted_tokens,
                estimated_tokens,
            )
        _keep(self._doubted, place, None)


ValueT = TypeVar("ValueT")


def _keep(places: OrderedDict[PlaceT, ValueT], place: PlaceT, value: ValueT) -> None:
    places[place] = value
    places.move_to_end(place)
    if len(places) > MOST_PLACES:
        places.popitem(last=False)


# Remembers what endpoints refused, by address and model, while the process runs, for a day.
#
# All adapters of a process share one object: the code that makes the adapters owns it and passes
# it in.


KEPT_S = 24 * 3600.0
"""How long a lesson is valid: the server may be repaired, or restarted with other options."""
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

    A lesson that is not `lasting` applies to this request only.
    """

    text: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    lasting: bool = True

    def applied(self, capabilities: ModelCapabilities) -> ModelCapabilities:
        return replace(capabilities, **self.changes)


@dataclass(frozen=True, slots=True)
class Doubt:
    """Some of these names are refused, but it is not known which. `refusals.negotiation` finds out.

    `told` is what the server said, `shown` is the part of it that a channel may see. Until
    `is_proven`, it is possible that none of them is refused.
    """

    names: frozenset[str] = frozenset()
    told: str = ""
    shown: str = ""
    is_proven: bool = True


@dataclass(slots=True)
class _PlaceMemory:
    """What is known about one place, and since when."""

    lessons: list[tuple[float, Lesson]] = field(default_factory=list)
    doubts: tuple[Doubt, ...] = ()
    doubts_since_s: float = 0.0


class LearnedLimits:
    """The lessons by place, each logged once at WARNING; and how each place counts tokens."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self.tokens: TokenCalibration[ModelPlace] = TokenCalibration()
        self._now_s = now_s
        self._places: OrderedDict[ModelPlace, _PlaceMemory] = OrderedDict()
        self._doubted: OrderedDict[ModelPlace, None] = OrderedDict()

    def applied(self, place: ModelPlace, capabilities: ModelCapabilities) -> ModelCapabilities:
        """Return a model's capabilities, changed by its lessons."""
        for lesson in self._lessons(place):
            capabilities = lesson.applied(capabilities)
        return capabilities

    def doubts(self, place: ModelPlace) -> tuple[Doubt, ...]:
        """Return the open doubts: what is refused, but was not named."""
        memory = self._fresh(place)
        return () if memory is None else memory.doubts

    def doubt(self, place: ModelPlace, doubts: tuple[Doubt, ...]) -> None:
        """Remember what an answered request has proved, and log what is left out from now on."""
        before = self.doubts(place)
        if doubts == before:
            return
        memory = self._memory(place)
        memory.doubts, memory.doubts_since_s = doubts, self._now_s()
        for one in doubts:
            if one not in before:
                words = doubt_words(one.names)
                log.warning("%s %s: %s (%s)", place.provider, place.model, words, one.told)

    def forget(self, place: ModelPlace) -> bool:
        """Forget all lessons of a place. Return whether there were any."""
        memory = self._fresh(place)
        self._places.pop(place, None)
        return memory is not None and bool(memory.lessons or memory.doubts)

    def is_possible(self, place: ModelPlace, lesson: Lesson) -> bool:
        """Return whether a lesson can be right. The first impossible one of a place is logged."""
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
        known = self._memory(place).lessons
        is_new = lesson.text not in [one.text for _, one in known]
        known[:] = [(since_s, one) for since_s, one in known if one != lesson]
        known.append((self._now_s(), lesson))
        del known[:-MOST_LESSONS]
        if is_new:
            log.warning("%s %s: %s", place.provider, place.model, lesson.text)

    def told(self, place: ModelPlace, *, to_operator: bool = True) -> tuple[str, ...]:
        """Return the lessons of a model as texts. Others see less of what the server said."""
        doubts = [
            f"{doubt_words(one.names)} ({one.told if to_operator else one.shown})"
            for one in self.doubts(place)
        ]
        return (*dict.fromkeys(lesson.text for lesson in self._lessons(place)), *doubts)

    def _lessons(self, place: ModelPlace) -> list[Lesson]:
        memory = self._fresh(place)
        return [] if memory is None else [lesson for _, lesson in memory.lessons]

    def _fresh(self, place: ModelPlace) -> _PlaceMemory | None:
        """Return what is known about a place, without what is older than a day."""
        memory = self._places.get(place)
        if memory is None:
            return None
        oldest_s = self._now_s() - KEPT_S
        memory.lessons[:] = [one for one in memory.lessons if one[0] > oldest_s]
        if memory.doubts_since_s <= oldest_s:
            memory.doubts = ()
        return memory

    def _memory(self, place: ModelPlace) -> _PlaceMemory:
        memory = self._fresh(place) or _PlaceMemory()
        self._places[place] = memory
        self._places.move_to_end(place)
        _drop_oldest(self._places)
        return memory


def doubt_words(names: frozenset[str]) -> str:
    """Describe what is left out: fields by name, tools marked as tools."""
    listed = ", ".join(sorted(names))
    return f"it is not sent {listed}" if len(names) == 1 else f"it refuses one of: {listed}"


def _fits(name: str, value: Any) -> bool:
    least, most = POSSIBLE.get(name, (0, 0))
    return name not in POSSIBLE or value is None or least <= value <= most


def _drop_oldest(places: OrderedDict[ModelPlace, Any]) -> None:
    if len(places) > MOST_PLACES:
        places.popitem(last=False)
