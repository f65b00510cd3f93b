"""The values of a world's description. Each knows its place, which an error names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import reduce
from operator import or_
from typing import NoReturn, TypeVar

from discord_stage.errors import WorldError
from discord_stage.world import permissions
from discord_stage.world.ids import number_in
from discord_stage.world.records import Channel, Guild, Overwrite, Role, User

_KINDS = {str: "a text", bool: "true or false", int: "a number", float: "a number"}
_KINDS |= {list: "a list", dict: "an object", type(None): "null"}


class DescribedValue:
    """A value. `path` is its place in the description: `guilds[0].channels[3].name`."""

    def __init__(self, value: object, source: str, path: str = "") -> None:
        self.value = value
        self._source = source
        self._path = path

    def fail(self, reason: str) -> NoReturn:
        place = f"{self._source}: {self._path}" if self._path else self._source
        raise WorldError(f"{place}: {reason}")

    def text(self) -> str:
        return self.value if isinstance(self.value, str) else self._expected("a text")

    def optional_text(self) -> str | None:
        return None if self.value is None else self.text()

    def flag(self) -> bool:
        return self.value if isinstance(self.value, bool) else self._expected("true or false")

    def whole(self, least: int, most: int) -> int:
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool):
            self._expected("a whole number")
        if not least <= value <= most:
            self.fail(f"{value} is not a whole number from {least} to {most}")
        return value

    def one_of(self, choices: Sequence[str]) -> str:
        value = self.text()
        if value not in choices:
            self.fail(f"{value!r} is not one of: {', '.join(choices)}{hint(value, choices)}")
        return value

    def items(self) -> list[DescribedValue]:
        if not isinstance(self.value, list):
            self._expected("a list")
        return [self._child(value, f"[{i}]") for i, value in enumerate(self.value)]

    def fields(
        self, allowed: Collection[str], required: Collection[str] = ()
    ) -> dict[str, DescribedValue]:
        """Return the fields. An unknown or a missing one is an error."""
        if not isinstance(self.value, dict):
            self._expected("an object")
        for key in self.value:
            if key not in allowed:
                known = hint(key, allowed) or f"; known are {', '.join(sorted(allowed))}"
                self._child(None, f".{key}").fail(f"no such key{known}")
        for key in required:
            if key not in self.value:
                self._child(None, f".{key}").fail("is missing")
        return {key: self._child(value, f".{key}") for key, value in self.value.items()}

    def _child(self, value: object, step: str) -> DescribedValue:
        return DescribedValue(value, self._source, (self._path + step).lstrip("."))

    def _expected(self, what: str) -> NoReturn:
        self.fail(f"must be {what}, not {_KINDS.get(type(self.value), 'something else')}")


def hint(word: str, known: Collection[str]) -> str:
    """Return `; did you mean …?` if a known word is similar, else an empty text."""
    near = get_close_matches(word.lower(), known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


# -- what a description has in several places -----------------------------------------------------

Item = TypeVar("Item", Role, User, Channel)


def items_of(node: DescribedValue | None) -> list[DescribedValue]:
    return node.items() if node else []


def texts_of_node(node: DescribedValue | None) -> list[str]:
    return [entry.text() for entry in items_of(node)]


def name_of_node(node: DescribedValue, most: int) -> str:
    name = node.text()
    if not 1 <= len(name.strip()) <= most:
        node.fail(f"{name!r} is not a name of 1 to {most} characters")
    return name


def fresh_name(node: DescribedValue, seen: set[str], most: int) -> str:
    name = name_of_node(node, most)
    if name in seen:
        node.fail(f"{name!r} is there twice")
    seen.add(name)
    return name


def choices(
    node: DescribedValue | None, known: Collection[str], default: Collection[str]
) -> set[str]:
    if node is None:
        return set(default)
    return {entry.one_of(tuple(known)) for entry in node.items()}


def permission_bits(node: DescribedValue | None, default: permissions.Permission) -> int:
    names = None if node is None else choices(node, permissions.NAMES, ())
    if names is None:
        return int(default)
    return int(reduce(or_, (permissions.NAMES[name] for name in names), 0))


def by_name(known: Mapping[int, Item], node: DescribedValue, what: str) -> Item:
    name = node.text()
    for item in known.values():
        if item.name == name:
            return item
    names = [item.name for item in known.values()]
    return node.fail(f"{name!r}: there is no such {what}{hint(name, names)}")


def overwrite_of(guild: Guild, node: DescribedValue) -> Overwrite:
    fields = node.fields({"role", "member", "allow", "deny"})
    if ("role" in fields) == ("member" in fields):
        node.fail("needs either `role` or `member`")
    allow = permission_bits(fields.get("allow"), permissions.Permission(0))
    deny = permission_bits(fields.get("deny"), permissions.Permission(0))
    if "role" in fields:
        role = by_name(guild.roles, fields["role"], "role")
        return Overwrite(role.id, False, allow, deny)
    people = {member.user.id: member.user for member in guild.members.values()}
    return Overwrite(by_name(people, fields["member"], "member").id, True, allow, deny)


def id_of(fields: Mapping[str, DescribedValue]) -> int | None:
    """Return the `id` that the description sets: a number, or better a text of digits."""
    node = fields.get("id")
    if node is None:
        return None
    number = None if isinstance(node.value, bool) else number_in(str(node.value))
    if not number or number >= 1 << 64:
        node.fail(f"{node.value!r} is not an id")
    return number
