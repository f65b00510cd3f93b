"""Decides which rows of an archive can be imported into a server here, and why others cannot.

An archive may come from anybody, so each row passes the checks that the same thing has to pass
when somebody types it in: limits of personas, lorebooks and settings, providers, addresses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oshaberi.bot.characters.cards import card_of
from oshaberi.bot.characters.lorebooks import book_from
from oshaberi.bot.commands.command_context import CommandRefusedError
from oshaberi.bot.commands.lore_commands import checked_title
from oshaberi.bot.commands.lore_limits import LARGEST_BOOK, MOST_BOOKS
from oshaberi.bot.commands.models.model_commands import MODEL_LIMIT, checked_provider
from oshaberi.bot.commands.models.option_commands import MOST_MODELS
from oshaberi.bot.commands.personas.persona_changes import (
    MOST_PERSONAS,
    MOST_SPRITES,
    check_size,
    checked_name,
    checked_sprite,
    checked_url,
)
from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.config.all_settings import (
    DECLARED,
    SERVER_KEYS,
    SERVER_ONLY_KEYS,
    with_new_names,
)
from oshaberi.bot.config.redaction import secrets_in_url
from oshaberi.bot.config.schema import check_value
from oshaberi.bot.config.server_settings import check_limit
from oshaberi.bot.conversation.persona_options import checked_options, known_options
from oshaberi.bot.faces.own_face import BIO_LENGTH
from oshaberi.bot.moving.archive import MovedServer, has_copy
from oshaberi.bot.storage.records import MOST_FACTS, PersonaRecord
from oshaberi.bot.storage.repositories.moving import Row, name_key
from oshaberi.bot.storage.repositories.personas import persona_record
from oshaberi.bot.storage.schema.table_rows import PersonaRow
from oshaberi.bot.tools.builtin.memory import LONGEST_FACT
from oshaberi.errors import ConfigError, OshaberiError
from oshaberi.providers.model_addresses import whole_address
from oshaberi.providers.model_options import OPTIONS, options_of
from oshaberi.terminal_output import counted

MOST_REMARKS = 200
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Target:
    """The server of this instance into which an archive is imported."""

    server_id: int
    settings: LoadedSettings
    opted_out: Container[int]
    channels: Container[int] | None = None
    """The server's channels; None if they are unknown."""
    takes_addresses: bool = False
    """Whether models with an address of their own are imported."""
    takes_memories: bool = False
    """Whether facts about people are imported."""


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """The rows that can be imported, by table, and what cannot, with the reasons."""

    rows: Mapping[str, tuple[Row, ...]]
    remarks: tuple[str, ...]


class _RowRefusedError(Exception):
    """A row cannot be imported. The message says why."""


def check_rows(server: MovedServer, target: Target) -> CheckedRows:
    """Check every row. Work is linear in the archive, which is bounded."""
    remarks = list(server.remarks)
    rows: dict[str, tuple[Row, ...]] = {}
    for table, check in _CHECKS.items():
        kept = []
        for row in check(_Arriving(server, target, rows), server.rows.get(table, ())):
            if isinstance(row, str):
                remarks.append(row)
            else:
                kept.append(row)
        rows[table] = tuple(kept)
    if len(remarks) > MOST_REMARKS:
        remarks[MOST_REMARKS:] = [f"and {len(remarks) - MOST_REMARKS} more"]
    return CheckedRows(rows, tuple(remarks))


@dataclass(frozen=True, slots=True)
class _Arriving:
    """An archive while it is checked. `rows` are those of the tables that have been checked."""

    server: MovedServer
    target: Target
    rows: Mapping[str, tuple[Row, ...]]

    def ids(self, table: str) -> frozenset[int]:
        return frozenset(row["id"] for row in self.rows[table])

    def must_have_channel(self, channel_id: int) -> None:
        """Refuse rows of a channel that the server does not have."""
        known = self.target.channels
        if known is None and self.server.server_id != self.target.server_id:
            raise _RowRefusedError("channels of another server do not come")
        if known is not None and channel_id not in known:
            raise _RowRefusedError(f"there is no channel {channel_id} here")


Given = tuple[Row, ...]
Found = Iterator[Row | str]
"""Rows that can be imported, and remarks about the others."""


def _each(given: Given, name: Callable[[Row], str], check: Callable[[Row], Row]) -> Found:
    for row in given:
        try:
            yield check(row)
        except (_RowRefusedError, OshaberiError) as error:
            yield f"{_short(name(row))}: {error}"
        except (TypeError, ValueError, AttributeError, KeyError, IndexError, RecursionError):
            yield f"{_short(name(row))}: is damaged"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


# -- personas ------------------------------------------------------------------------------------


def _personas(_arriving: _Arriving, given: Given) -> Found:
    names: set[str] = set()

    def check(row: Row) -> Row:
        if not all(isinstance(row[key], list) for key in ("aliases", "triggers", "samples")):
            raise TypeError
        record = persona_record(PersonaRow(server_id=0, **row))
        pairs = (one for pair in record.samples for one in pair)
        if not all(isinstance(one, str) for one in (*record.aliases, *record.triggers, *pairs)):
            raise TypeError
        if record.card is not None:
            card_of(record.name, record.prompt, record.card)
        check_size(PersonaRecord(0, ""), record)
        avatar = None if record.avatar_url is None else checked_url(record.avatar_url)
        name = _new_name(checked_name(record.name), names, MOST_PERSONAS)
        options = checked_options(known_options(record)) or None
        return {**row, "name": name, "avatar_url": avatar, "options": options}

    yield from _each(given, lambda row: f"the persona {row['name']}", check)


def _new_name(name: str, taken: set[str], most: int) -> str:
    if name_key(name) in taken:
        raise _RowRefusedError("it is in the archive twice")
    if len(taken) >= most:
        raise _RowRefusedError(f"a server has at most {most}")
    taken.add(name_key(name))
    return name


def _sprites(arriving: _Arriving, given: Given) -> Found:
    personas = arriving.ids("personas")
    names: dict[int, set[str]] = {}

    def check(row: Row) -> Row:
        if row["persona_id"] not in personas:
            raise _RowRefusedError("its persona does not come")
        address = None if row["avatar_url"] is None else checked_url(row["avatar_url"])
        taken = names.setdefault(row["persona_id"], set())
        name = _new_name(checked_sprite(row["name"]), taken, MOST_SPRITES)
        return {**row, "name": name, "avatar_url": address}

    yield from _each(given, lambda row: f"the sprite {row['name']}", check)


def _pictures(_arriving: _Arriving, given: Given) -> Found:
    """Keep the pictures of which there is a copy.

    The others are only addresses that did not load.
    """
    known: set[str] = set()
    for row in given:
        if has_copy(row) and row["address"] not in known:
            known.add(row["address"])
            try:
                yield {**row, "address": checked_url(row["address"])}
            except CommandRefusedError as error:
                yield f"a picture: {error}"


def _own_faces(arriving: _Arriving, given: Given) -> Found:
    addresses = {row["address"] for row in arriving.rows["pictures"]}
    for row in given[:1]:
        banner = row["banner"] if row["banner"] in addresses else ""
        yield {**row, "bio": row["bio"][:BIO_LENGTH], "banner": banner}


# -- lorebooks -----------------------------------------------------------------------------------


def _lorebooks(arriving: _Arriving, given: Given) -> Found:
    personas = arriving.ids("personas")
    names: set[str] = set()

    def check(row: Row) -> Row:
        if row["persona_id"] is not None and row["persona_id"] not in personas:
            raise _RowRefusedError("its persona does not come")
        if row["channel_id"]:
            arriving.must_have_channel(row["channel_id"])
        if len(json.dumps(row["content"], ensure_ascii=False)) > LARGEST_BOOK:
            raise _RowRefusedError("it is larger than 1 MB")
        name = checked_title(row["name"])
        book_from(row["content"], name)
        return {**row, "name": _new_name(name, names, MOST_BOOKS)}

    yield from _each(given, lambda row: f"the lorebook {row['name']}", check)


# -- settings ------------------------------------------------------------------------------------


def _server_settings(arriving: _Arriving, given: Given) -> Found:
    yield from _each(
        given, lambda row: f"the setting {row['key']}", lambda row: _setting(arriving, row)
    )


def _channel_settings(arriving: _Arriving, given: Given) -> Found:
    def check(row: Row) -> Row:
        arriving.must_have_channel(row["channel_id"])
        if row["key"] in SERVER_ONLY_KEYS:
            raise _RowRefusedError("only a whole server has it")
        return _setting(arriving, row)

    yield from _each(given, lambda row: f"the setting {row['key']} of a channel", check)


def _setting(arriving: _Arriving, row: Row) -> Row:
    ((key, value),) = with_new_names({row["key"]: row["value"]}).items()
    if key not in SERVER_KEYS:
        raise _RowRefusedError(
            "is set by whoever runs the bot" if key in DECLARED else "is not known here"
        )
    _check_mentions(arriving, key, value)
    try:
        checked = check_value(SERVER_KEYS[key], tuple(value) if isinstance(value, list) else value)
        check_limit(arriving.target.settings, key, checked)
    except ConfigError as error:
        raise _RowRefusedError(str(error).removeprefix(f"{key}: ")) from None
    return {**row, "key": key, "value": list(checked) if isinstance(checked, tuple) else checked}


def _check_mentions(arriving: _Arriving, key: str, value: Any) -> None:
    """Refuse a setting that names channels or roles which the server does not have."""
    mention = SERVER_KEYS[key].about.get("mention", "")
    ids = value if isinstance(value, list) else [value]
    if mention == "#":
        for channel_id in filter(None, ids):
            arriving.must_have_channel(channel_id)
    if mention == "@&" and ids and arriving.server.server_id != arriving.target.server_id:
        raise _RowRefusedError("roles of another server do not come")


# -- models --------------------------------------------------------------------------------------


def _models(arriving: _Arriving, given: Given) -> Found:
    counts: dict[int, int] = {}

    def check(row: Row) -> Row:
        if row["channel_id"]:
            arriving.must_have_channel(row["channel_id"])
        provider = checked_provider(row["provider"])
        name = row["model"].strip()
        if not name or len(name) > MODEL_LIMIT or not name.isprintable():
            raise _RowRefusedError("its name cannot be used")
        params = {key: value for key, value in row["params"].items() if key in OPTIONS}
        options_of(params)
        base_url = _address(arriving.target, provider, row["base_url"])
        position = counts.get(row["channel_id"], 0)
        if position >= MOST_MODELS:
            raise _RowRefusedError(f"its chain has {MOST_MODELS} already")
        counts[row["channel_id"]] = position + 1
        new = {"provider": provider, "model": name, "base_url": base_url, "params": params}
        return {**row, **new, "position": position}

    in_order = tuple(sorted(given, key=lambda row: (row["channel_id"], row["position"])))
    yield from _each(in_order, lambda row: f"the model {row['provider']}/{row['model']}", check)
    for row in given:
        left = [key for key in row["params"] if key not in OPTIONS] if row["params"] else []
        if left:
            yield f"the model {_short(row['model'])}: without {_short(', '.join(left))}"


def _address(target: Target, provider: str, address: str | None) -> str | None:
    if address is None:
        return None
    if any(secrets_in_url(address)):
        raise _RowRefusedError("its address contains a password or a key")
    if not target.takes_addresses:
        raise _RowRefusedError(
            f"it is asked at {_short(address)}, and keys of this server would be sent there: add "
            "--addresses if you trust it"
        )
    return whole_address(provider, address)


# -- memories ------------------------------------------------------------------------------------


def _facts(arriving: _Arriving, given: Given) -> Found:
    counts: dict[int | None, int] = {}
    opted_out = 0
    if given and not arriving.target.takes_memories:
        yield f"{counted(len(given), 'fact')}: personal data, add --memories if they should come"
        return
    personas = arriving.ids("personas") | {0}
    for row in given:
        user_id = row["user_id"]
        if row["persona_id"] not in personas:
            yield f"the fact {_short(row['text'])}: the persona that knows it does not come"
            continue
        if user_id is not None and user_id in arriving.target.opted_out:
            opted_out += 1
            continue
        counts[user_id] = counts.get(user_id, 0) + 1
        if counts[user_id] <= MOST_FACTS and 0 < len(row["text"]) <= LONGEST_FACT:
            yield row
        else:
            yield f"the fact {_short(row['text'])}: is too long, or one too many"
    if opted_out:
        yield f"facts about people who have opted out here: {opted_out}"


_CHECKS: Mapping[str, Callable[[_Arriving, Given], Found]] = {
    "personas": _personas,
    "sprites": _sprites,
    "pictures": _pictures,
    "own_faces": _own_faces,
    "lorebooks": _lorebooks,
    "server_settings": _server_settings,
    "channel_settings": _channel_settings,
    "models": _models,
    "facts": _facts,
}
"""One check for each table of `MOVED`; those that others refer to come first."""
