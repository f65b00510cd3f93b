"""The table of transitions: every pair is either in it or raises."""

from __future__ import annotations

import itertools

import pytest

from oshaberi.stream.result import (
    TRANSITIONS,
    IllegalTransitionError,
    StreamPhase,
    StreamTrigger,
    following,
)

EXPECTED = {
    StreamPhase.NEW: {"OPEN": "READING"},
    StreamPhase.READING: {
        "END": "DRAINING",
        "GUARD": "DRAINING",
        "CALL": "HURRYING",
        "ERROR": "HURRYING",
        "TIMEOUT": "HURRYING",
        "STOP": "HALTING",
        "CLOSE": "HURRYING",
        "FOLLOW_UP": "DISCARDING",
        "BROKEN": "DISCARDING",
    },
    StreamPhase.DRAINING: {
        "STOP": "HALTING",
        "CLOSE": "HURRYING",
        "FOLLOW_UP": "DISCARDING",
        "BROKEN": "DISCARDING",
        "DRAINED": "DONE",
    },
    StreamPhase.HURRYING: {
        "STOP": "HALTING",
        "CLOSE": "HURRYING",
        "FOLLOW_UP": "DISCARDING",
        "BROKEN": "DISCARDING",
        "DRAINED": "DONE",
    },
    StreamPhase.HALTING: {"DRAINED": "DONE"},
    StreamPhase.DISCARDING: {"DRAINED": "DONE"},
    StreamPhase.DONE: {},
}


@pytest.mark.parametrize(("phase", "trigger"), list(itertools.product(StreamPhase, StreamTrigger)))
def test_every_pair(phase: StreamPhase, trigger: StreamTrigger) -> None:
    expected = EXPECTED[phase].get(trigger.name)
    if expected is None:
        with pytest.raises(IllegalTransitionError, match=f"{trigger.name} in {phase.name}"):
            following(phase, trigger)
    else:
        assert following(phase, trigger) is StreamPhase[expected]


def test_every_phase_but_the_first_can_be_reached_and_leads_to_the_end() -> None:
    reached = set(TRANSITIONS.values())
    assert reached == set(StreamPhase) - {StreamPhase.NEW}
    assert {phase for phase, _ in TRANSITIONS} == set(StreamPhase) - {StreamPhase.DONE}
