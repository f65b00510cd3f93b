"""The states of a stream and what leads from one to the next, as a table.

A pair that is not in the table is a mistake in the orchestrator, and raises.
"""

from __future__ import annotations

from enum import Enum

from oshaberi.errors import OshaberiError


class Phase(Enum):
    NEW = "nothing has happened yet"
    READING = "the model speaks, messages leave beside it"
    DRAINING = "the model is done, the queue leaves at its pace"
    HURRYING = "the queue leaves without simulated waits"
    HALTING = "a stop: only the closing flush may still leave"
    DISCARDING = "what waits is dropped"
    DONE = "there is a result"


class Trigger(Enum):
    OPEN = "the stream begins"
    END = "the provider ended"
    GUARD = "the model spoke for somebody else"
    CALL = "the model asks for a tool"
    ERROR = "the provider failed"
    TIMEOUT = "the model was silent for too long"
    STOP = "somebody asked to stop"
    FOLLOW_UP = "the user wrote again"
    BROKEN = "delivery cannot go on"
    DRAINED = "nothing is left to send"


class IllegalTransitionError(OshaberiError):
    """A trigger came in a phase that does not know it."""


_RUNNING = (Phase.READING, Phase.DRAINING, Phase.HURRYING)

TRANSITIONS: dict[tuple[Phase, Trigger], Phase] = {
    (Phase.NEW, Trigger.OPEN): Phase.READING,
    (Phase.READING, Trigger.END): Phase.DRAINING,
    (Phase.READING, Trigger.GUARD): Phase.DRAINING,
    (Phase.READING, Trigger.CALL): Phase.HURRYING,
    (Phase.READING, Trigger.ERROR): Phase.HURRYING,
    (Phase.READING, Trigger.TIMEOUT): Phase.HURRYING,
    **{(phase, Trigger.STOP): Phase.HALTING for phase in _RUNNING},
    **{(phase, Trigger.FOLLOW_UP): Phase.DISCARDING for phase in _RUNNING},
    **{(phase, Trigger.BROKEN): Phase.DISCARDING for phase in _RUNNING},
    (Phase.DRAINING, Trigger.DRAINED): Phase.DONE,
    (Phase.HURRYING, Trigger.DRAINED): Phase.DONE,
    (Phase.HALTING, Trigger.DRAINED): Phase.DONE,
    (Phase.DISCARDING, Trigger.DRAINED): Phase.DONE,
}


def following(phase: Phase, trigger: Trigger) -> Phase:
    try:
        return TRANSITIONS[phase, trigger]
    except KeyError:
        raise IllegalTransitionError(f"{trigger.name} in {phase.name}") from None
