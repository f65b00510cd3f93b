"""The rows of the fault matrix: every way in which a request can go wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from discord_stage import Fault


@dataclass(frozen=True, slots=True)
class Kind:
    """`passes`: the trouble passes, so nothing may be missing in the end."""

    name: str
    fault: Fault
    passes: bool = True

    def at(self, route: str, channel: str, call: int) -> Fault:
        return replace(self.fault, route=route, channel=channel, call=call)


def status(number: int, *, after: bool = False, times: int = 1) -> Fault:
    return Fault(kind="status", status=number, after=after, times=times)


def code(number: int, *, times: int = 1, wait_s: float = 0.0) -> Fault:
    return Fault(kind="code", code=number, times=times, retry_after_s=wait_s)


def limited(wait_s: float, *, via: bool = True) -> Fault:
    return Fault(kind="status", status=429, retry_after_s=wait_s, via=via)


_TWICE = (
    ("500", lambda after: status(500, after=after)),
    ("502 in HTML", lambda after: Fault(kind="html", status=502, after=after)),
    ("503", lambda after: status(503, after=after)),
    ("503 three times", lambda after: status(503, after=after, times=3)),
    ("connection reset", lambda after: Fault(kind="reset", after=after)),
    ("connection closed", lambda after: Fault(kind="close", after=after)),
    ("no answer", lambda after: Fault(kind="hang", after=after)),
    ("200 with {}", lambda after: Fault(kind="body", body="{}", after=after)),
    ("200 with null", lambda after: Fault(kind="body", body="null", after=after)),
    ("200 with an empty body", lambda after: Fault(kind="body", body="", after=after)),
    ("late answer", lambda after: Fault(kind="delay", delay_s=25.0, after=after)),
)


def _both(name: str, make: Callable[[bool], Fault]) -> tuple[Kind, Kind]:
    return Kind(f"{name}, before the effect", make(False)), Kind(f"{name}, after it", make(True))


LASTING = (
    Kind("500 for ever", Fault(kind="status", status=500, times=None), passes=False),
    Kind("200 with {} for ever", Fault(kind="body", times=None), passes=False),
)
AMBIGUOUS = tuple(kind for name, make in _TWICE for kind in _both(name, make))
LIMITS = (
    Kind("429, 2 s", limited(2.0)),
    Kind("429 without Via, 2 s", limited(2.0, via=False)),
    Kind("429, 10 min", limited(600.0), passes=False),
    Kind("20016 slow mode, 5 s", code(20016, wait_s=5.0)),
    Kind("20016 slow mode, 10 min", code(20016, wait_s=600.0), passes=False),
    Kind("20028 write limit, 5 s", code(20028, wait_s=5.0)),
)
CODES = (
    Kind("10003 unknown channel", code(10003), passes=False),
    Kind("10008 unknown message", code(10008), passes=False),
    Kind("10015 unknown webhook", code(10015), passes=False),
    Kind("40005 too large", code(40005), passes=False),
    Kind("50001 no access", code(50001), passes=False),
    Kind("50006 empty", code(50006), passes=False),
    Kind("50007 DM closed", code(50007), passes=False),
    Kind("50013 no permission", code(50013), passes=False),
    Kind("50027 bad webhook token", code(50027), passes=False),
    Kind("50035 invalid form", code(50035), passes=False),
    Kind("50045 file too large", code(50045), passes=False),
    Kind("50083 thread archived", code(50083), passes=False),
    Kind("50278 no mutual guild", code(50278), passes=False),
    Kind("160002 no history for a reply", code(160002), passes=False),
    Kind("200000 AutoMod", code(200000), passes=False),
    Kind("240000 harmful link", code(240000), passes=False),
    Kind("401 token revoked", status(401), passes=False),
)
WORLD = (
    Kind("webhook revoked", Fault(kind="revoke_webhook")),
    Kind("channel deleted", Fault(kind="delete_channel"), passes=False),
    Kind("permission lost", Fault(kind="lose_permission"), passes=False),
    Kind("event before the answer", Fault(kind="event_first")),
    Kind("event after the answer", Fault(kind="event_late", delay_s=1.0)),
    Kind("event twice", Fault(kind="event_twice")),
    Kind("event lost", Fault(kind="event_lost")),
)
KINDS = (*AMBIGUOUS, *LASTING, *LIMITS, *CODES, *WORLD)
