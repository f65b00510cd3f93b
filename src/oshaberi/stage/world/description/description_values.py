"""Reads single values of a world's description. An error names the place of the value."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce
from operator import or_
from typing import TypeVar

from oshaberi.checked_json import JsonNode, hint
from oshaberi.stage.world import permissions
from oshaberi.stage.world.discord_records import Channel, Guild, Overwrite, Role, User
from oshaberi.stage.world.snowflakes import number_in

Item = TypeVar("Item", Role, User, Channel)


def items_of(node: JsonNode | None) -> list[JsonNode]:
    return node.items() if node else []


def texts_of_node(node: JsonNode | None) -> list[str]:
    return [entry.text() for entry in items_of(node)]


def name_of_node(node: JsonNode, most: int) -> str:
    name = node.text()
    if not 1 <= len(name.strip()) <= most:
        node.fail(f"{name!r} is not a name of 1 to {most} characters")
    return name


def fresh_name(node: JsonNode, seen: set[str], most: int) -> str:
    name = name_of_node(node, most)
    if name in seen:
        node.fail(f"{name!r} is there twice")
    seen.add(name)
    return name


def choices(node: JsonNode | None, known: Collection[str], default: Collection[str]) -> set[str]:
    if node is None:
        return set(default)
    return {entry.one_of(tuple(known)) for entry in node.items()}


def permission_bits(node: JsonNode | None, default: permissions.Permission) -> int:
    names = None if node is None else choices(node, permissions.NAMES, ())
    if names is None:
        return int(default)
    return int(reduce(or_, (permissions.NAMES[name] for name in names), 0))


def by_name(known: Mapping[int, Item], node: JsonNode, what: str) -> Item:
    name = node.text()
    for item in known.values():
        if item.name == name:
            return item
    names = [item.name for item in known.values()]
    return node.fail(f"{name!r}: there is no such {what}{hint(name, names)}")


def overwrite_of(guild: Guild, node: JsonNode) -> Overwrite:
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


def id_of(fields: Mapping[str, JsonNode]) -> int | None:
    """Return the `id` that the description sets: a number, or better a text of digits."""
    node = fields.get("id")
    if node is None:
        return None
    number = None if isinstance(node.value, bool) else number_in(str(node.value))
    if not number or number >= 1 << 64:
        node.fail(f"{node.value!r} is not an id")
    return number
