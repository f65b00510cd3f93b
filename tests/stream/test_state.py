"""The table of transitions: every pair is either in it or raises."""

from __future__ import annotations

import itertools

import pytest

from oshaberi.stream.state import (
    TRANSITIONS,
    IllegalTransitionError,
    Phase,
    Trigger,
    following,
)

EXPECTED = {
    Phase.NEW: {"OPEN": "READING"},
    Phase.READING: {
        "END": "DRAINING",
        "GUARD": "DRAINING",
        "CALL": "HURRYING",
        "ERROR": "HURRYING",
        "TIMEOUT": "HURRYING",
        "STOP": "HALTING",
        "FOLLOW_UP": "DISCARDING",
        "BROKEN": "DISCARDING",
    },
    Phase.DRAINING: {
        "STOP": "HALTING",
        "FOLLOW_UP": "DISCARDING",
        "BROKEN": "DISCARDING",
        "DRAINED": "DONE",
    },
    Phase.HURRYING: {
        "STOP": "HALTING",
        "FOLLOW_UP": "DISCARDING",
        "BROKEN": "DISCARDING",
        "DRAINED": "DONE",
    },
    Phase.HALTING: {"DRAINED": "DONE"},
    Phase.DISCARDING: {"DRAINED": "DONE"},
    Phase.DONE: {},
}


@pytest.mark.parametrize(("phase", "trigger"), list(itertools.product(Phase, Trigger)))
def test_every_pair(phase: Phase, trigger: Trigger) -> None:
    expected = EXPECTED[phase].get(trigger.name)
    if expected is None:
        with pytest.raises(IllegalTransitionError, match=f"{trigger.name} in {phase.name}"):
            following(phase, trigger)
    else:
        assert following(phase, trigger) is Phase[expected]


def test_every_phase_but_the_first_can_be_reached_and_leads_to_the_end() -> None:
    reached = set(TRANSITIONS.values())
    assert reached == set(Phase) - {Phase.NEW}
    assert {phase for phase, _ in TRANSITIONS} == set(Phase) - {Phase.DONE}
