"""Faults on demand: what a fault says, and which requests it hits. `rest.fault_effects` applies it.

A fault counts the requests that it matches, and hits them from the `call`-th on, `times` times.
With `after` the request takes effect first, and only its answer fails.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Literal, get_args

from discord_stage.errors import StageError
from discord_stage.refusals import CODES
from discord_stage.requests.request_log import RequestRecord
from discord_stage.world.permissions import NAMES
from discord_stage.world.records import Json
from discord_stage.world.world_state import Key, World

SEND = "POST /channels/*/messages"
EDIT = "PATCH /channels/*/messages/*"
TYPING = "POST /channels/*/typing"
WEBHOOK = "POST /webhooks/*/*"
"""Executing a webhook, and follow-ups of interactions."""

Kind = Literal[
    "status",
    "code",
    "html",
    "body",
    "delay",
    "reset",
    "close",
    "hang",
    "event_first",
    "event_late",
    "event_twice",
    "event_lost",
    "revoke_webhook",
    "delete_channel",
    "lose_permission",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault: `Fault(kind="status", status=503, route=SEND, channel="general", after=True)`."""

    kind: Kind
    route: str = "*"
    """`METHOD /path`, with `*` for anything; several are separated by `|`."""
    channel: Key | None = None
    call: int = 1
    times: int | None = 1
    attempt: int | None = None
    chance: float = 1.0
    after: bool = False
    status: int = 500
    body: str = "{}"
    """The body of a success, with kind `body`."""
    code: int = 0
    retry_after_s: float = 0.0
    """Used with status 429, or with a code that means 429."""
    via: bool = True
    """Without it discord.py takes a 429 for a ban, and gives up at once."""
    delay_s: float = 0.0
    permission: str = "send_messages"

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise StageError(
                f"fault: no such kind {self.kind!r}; one of {', '.join(get_args(Kind))}"
            )
        if self.kind == "code" and self.code not in CODES:
            raise StageError(f"fault: no such code {self.code}")
        if self.kind == "lose_permission" and self.permission not in NAMES:
            raise StageError(f"fault: no such permission {self.permission!r}")
        if self.call < 1 or (self.times is not None and self.times < 1):
            raise StageError("fault: `call` and `times` count from 1")

    @classmethod
    def from_json(cls, value: Json) -> Fault:
        known = {field.name for field in fields(cls)}
        for key in value:
            if key not in known:
                raise StageError(
                    f"fault: no such key {key!r}; known are {', '.join(sorted(known))}"
                )
        if "kind" not in value:
            raise StageError("fault: `kind` is missing")
        for key, one in value.items():
            if not _fits(key, one):
                raise StageError(f"fault: `{key}` must be {_KEYS[key][0]}")
        return cls(**value)


_TEXT = "a text", (str,)
_COUNT = "a whole number", (int,)
_SECONDS = "a number from 0 to 3600", (int, float)
_SWITCH = "true or false", (bool,)
_KEYS: dict[str, tuple[str, tuple[type, ...]]] = {
    "kind": _TEXT,
    "route": _TEXT,
    "channel": ("a name or an id", (str, int, type(None))),
    "call": _COUNT,
    "times": ("a whole number, or null", (int, type(None))),
    "attempt": ("a whole number, or null", (int, type(None))),
    "chance": ("a number from 0 to 1", (int, float)),
    "after": _SWITCH,
    "status": ("a status from 200 to 599", (int,)),
    "code": _COUNT,
    "retry_after_s": _SECONDS,
    "via": _SWITCH,
    "delay_s": _SECONDS,
    "permission": _TEXT,
}
"""The types that each field may have when a fault comes as JSON."""
_RANGES = {
    "chance": (0, 1),
    "status": (200, 599),
    "retry_after_s": (0, 3600),
    "delay_s": (0, 3600),
}


def _fits(key: str, value: object) -> bool:
    """Return whether a value has the right type and range. A boolean does not count as a number."""
    kinds = _KEYS[key][1]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        return False
    if key not in _RANGES or not isinstance(value, int | float):
        return True
    least, most = _RANGES[key]
    return least <= value <= most


class _ArmedFault:
    """A fault with its counts."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.seen = 0
        self.struck = 0

    @property
    def spent(self) -> bool:
        return self.fault.times is not None and self.struck >= self.fault.times

    def strikes(self, record: RequestRecord, channel_id: int | None, chance: float) -> bool:
        fault = self.fault
        routes = fault.route.split("|")
        if self.spent or not any(fnmatchcase(record.name, route) for route in routes):
            return False
        if fault.channel is not None and channel_id != record.channel_id:
            return False
        if fault.attempt is not None and fault.attempt != record.attempt:
            return False
        self.seen += 1
        if self.seen < fault.call or chance >= fault.chance:
            return False
        self.struck += 1
        return True


class Faults:
    """The active faults."""

    def __init__(self, world: World, chances: random.Random) -> None:
        self._world = world
        self._random = chances
        self._armed: list[_ArmedFault] = []

    def add(self, fault: Fault) -> Fault:
        if fault.channel is not None:
            self._world.channel(fault.channel)
        self._armed.append(_ArmedFault(fault))
        return fault

    def clear(self) -> None:
        self._armed.clear()

    def struck(self, fault: Fault) -> int:
        """Return how often a fault has occurred so far."""
        return sum(armed.struck for armed in self._armed if armed.fault is fault)

    def standing(self) -> list[tuple[Fault, int]]:
        """Return each fault and how often it has occurred so far."""
        return [(armed.fault, armed.struck) for armed in self._armed]

    def take(self, record: RequestRecord) -> list[Fault]:
        """Return the faults for this request."""
        found = [
            armed.fault
            for armed in self._armed
            if armed.strikes(record, self._channel_id(armed.fault), self._random.random())
        ]
        record.faults = [fault.kind for fault in found]
        return found

    def _channel_id(self, fault: Fault) -> int | None:
        key = fault.channel
        if key is None or isinstance(key, int):
            return key
        found = [c.id for c in self._world.channels.values() if c.name == key]
        return found[0] if found else None
