"""The table of a stream's states and the triggers that lead from one to the next.

A pair that is not in the table is a mistake in the orchestrator, and raises.
"""

from __future__ import annotations

from enum import Enum

from oshaberi.errors import OshaberiError


class StreamPhase(Enum):
    NEW = "nothing has happened yet"
    READING = "the model speaks, messages leave beside it"
    DRAINING = "the model is done, the queue leaves at its pace"
    HURRYING = "the queue leaves without simulated waits"
    HALTING = "a stop: only the closing flush may still leave"
    DISCARDING = "what waits is dropped"
    DONE = "there is a result"


class StreamTrigger(Enum):
    OPEN = "the stream begins"
    END = "the provider ended"
    GUARD = "the model spoke for somebody else"
    CALL = "the model asks for a tool"
    ERROR = "the provider failed"
    TIMEOUT = "the model was silent, or thought, for too long"
    STOP = "somebody asked to stop"
    CLOSE = "the process ends"
    FOLLOW_UP = "the user wrote again"
    BROKEN = "delivery cannot go on"
    DRAINED = "nothing is left to send"


class IllegalTransitionError(OshaberiError):
    """A trigger came in a phase that does not allow it."""


_RUNNING = (StreamPhase.READING, StreamPhase.DRAINING, StreamPhase.HURRYING)

TRANSITIONS: dict[tuple[StreamPhase, StreamTrigger], StreamPhase] = {
    (StreamPhase.NEW, StreamTrigger.OPEN): StreamPhase.READING,
    (StreamPhase.READING, StreamTrigger.END): StreamPhase.DRAINING,
    (StreamPhase.READING, StreamTrigger.GUARD): StreamPhase.DRAINING,
    (StreamPhase.READING, StreamTrigger.CALL): StreamPhase.HURRYING,
    (StreamPhase.READING, StreamTrigger.ERROR): StreamPhase.HURRYING,
    (StreamPhase.READING, StreamTrigger.TIMEOUT): StreamPhase.HURRYING,
    **{(phase, StreamTrigger.STOP): StreamPhase.HALTING for phase in _RUNNING},
    **{(phase, StreamTrigger.CLOSE): StreamPhase.HURRYING for phase in _RUNNING},
    **{(phase, StreamTrigger.FOLLOW_UP): StreamPhase.DISCARDING for phase in _RUNNING},
    **{(phase, StreamTrigger.BROKEN): StreamPhase.DISCARDING for phase in _RUNNING},
    (StreamPhase.DRAINING, StreamTrigger.DRAINED): StreamPhase.DONE,
    (StreamPhase.HURRYING, StreamTrigger.DRAINED): StreamPhase.DONE,
    (StreamPhase.HALTING, StreamTrigger.DRAINED): StreamPhase.DONE,
    (StreamPhase.DISCARDING, StreamTrigger.DRAINED): StreamPhase.DONE,
}


def following(phase: StreamPhase, trigger: StreamTrigger) -> StreamPhase:
    try:
        return TRANSITIONS[phase, trigger]
    except KeyError:
        raise IllegalTransitionError(f"{trigger.name} in {phase.name}") from None
