"""The cost of a token, beside `json.loads` of the chunk that brings it: the part nobody can avoid.

Both are measured in turns, over the same tokens, `finish` included.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from bench.engines import MakeEngine, cut, play
from bench.timing import Job, best_in_turns
from oshaberi.text import engine

DEGREES = (0, 1, 2, 3)
REAL_LIMIT = 1.5
COMPILED = not str(engine.__file__).endswith(".py")
WORST_LIMIT = 3.0 if COMPILED else 10.0
_MICRO = 1e6


@dataclass(frozen=True, slots=True)
class TokenCost:
    """Microseconds per token, by degree."""

    text: str
    limit: float
    json_us: float
    engine_us: dict[int, float]

    def ratio(self, degree: int) -> float:
        return self.engine_us[degree] / self.json_us

    @property
    def flagged(self) -> bool:
        """At any degree: texts that cost most do so at degree 3 or 0."""
        return max(self.ratio(degree) for degree in self.engine_us) > self.limit


def chunk_json(token: str) -> str:
    """A streaming event as an OpenAI-compatible server sends it."""
    delta = {"index": 0, "delta": {"content": token}, "logprobs": None, "finish_reason": None}
    event = {
        "id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
        "object": "chat.completion.chunk",
        "created": 1741570283,
        "model": "gpt-4o-2024-08-06",
        "service_tier": "default",
        "system_fingerprint": "fp_fc9f1d7035",
        "choices": [delta],
        "usage": None,
        "obfuscation": "x8Tq0LkVd",
    }
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def run(
    make: MakeEngine, real: Mapping[str, list[str]], shapes: Mapping[str, str], rounds: int
) -> list[TokenCost]:
    """Real texts first, then the shapes, the dearest at any degree on top."""
    costs = measure(make, real, REAL_LIMIT, rounds)
    worst = measure(make, {name: [text] for name, text in shapes.items()}, WORST_LIMIT, rounds)
    return costs + sorted(worst, key=lambda cost: -max(map(cost.ratio, DEGREES)))


def measure(
    make: MakeEngine, groups: Mapping[str, list[str]], limit: float, rounds: int
) -> list[TokenCost]:
    """The mean over the tokens of each group of texts, every text a stream of its own.

    The rounds go over all groups, so that a busy second does not spoil every round of one.
    """
    jobs: list[Job] = []
    counts: list[int] = []
    for texts in groups.values():
        streams = [cut(text) for text in texts]
        events = [chunk_json(token) for stream in streams for token in stream]
        jobs += [partial(load, events), *(partial(_play, make, d, streams) for d in DEGREES)]
        counts.append(len(events))
    best = iter(best_in_turns(jobs, rounds))
    return [
        _cost(name, limit, [next(best) * _MICRO / count for _ in range(1 + len(DEGREES))])
        for name, count in zip(groups, counts, strict=True)
    ]


def _cost(name: str, limit: float, per_token: list[float]) -> TokenCost:
    return TokenCost(name, limit, per_token[0], dict(zip(DEGREES, per_token[1:], strict=True)))


def load(events: list[str]) -> None:
    loads = json.loads
    for event in events:
        loads(event)


def _play(make: MakeEngine, degree: int, streams: list[list[str]]) -> None:
    for stream in streams:
        play(make, degree, stream)
