"""Components as Discord returns them: numbered, and with defaults for what the sender left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from oshaberi.stage.rules.component_rules import SELECTS
from oshaberi.stage.world.discord_records import Json

_CHOICE: Json = {"min_values": 1, "max_values": 1}
_LEFT_OUT: dict[int, Json] = dict.fromkeys(SELECTS, _CHOICE) | {
    11: {"description": None, "spoiler": False},
    13: {"name": "", "size": 0, "spoiler": False},
    14: {"spacing": 1, "divider": True},
    17: {"accent_color": None, "spoiler": False},
}
"""The fields that each type of component has even if the sender left them out."""


def components(items: Sequence[Json]) -> list[Json]:
    """Return the components. Ids that the sender chose stay; the others are numbered in order."""
    taken = {item["id"] for item in _all(items) if item.get("id")}
    numbers = (number for number in count(1) if number not in taken)
    return [_numbered(item, numbers) for item in items]


def _numbered(item: Json, numbers: Iterator[int]) -> Json:
    made: Json = {"id": item.get("id") or next(numbers)}
    given = {key: value for key, value in item.items() if value is not None and key != "id"}
    made |= _LEFT_OUT.get(item.get("type", 0), {}) | given
    if "components" in made:
        made["components"] = [_numbered(inside, numbers) for inside in made["components"]]
    for key in ("component", "accessory"):
        if key in made:
            made[key] = _numbered(made[key], numbers)
    return made


def _all(items: Sequence[Json]) -> Iterator[Json]:
    for item in items:
        yield item
        inside = [item[key] for key in ("component", "accessory") if item.get(key)]
        yield from _all([*(item.get("components") or []), *inside])
