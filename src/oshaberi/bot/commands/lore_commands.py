"""`/lore`: what characters and worlds know, in entries that wake when they are spoken of."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import discord
from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.characters.cards import MOST_DEPTH
from oshaberi.bot.characters.lore_scan import SCAN_DEPTH
from oshaberi.bot.characters.lorebooks import Lorebook, LoreEntry, as_sillytavern, book_from
from oshaberi.bot.commands.answers import Choices, CommandForm, answer, ask_first, choices, plain
from oshaberi.bot.commands.command_context import (
    MANAGER,
    Chosen,
    CommandRefusedError,
    CommandUser,
    Interaction,
    PlaceOption,
    Where,
    asker_of,
    context_in,
    context_of,
)
from oshaberi.bot.commands.lore_limits import LARGEST_BOOK, check_book
from oshaberi.bot.commands.personas.persona_changes import persona_choices, persona_named
from oshaberi.bot.commands.personas.picture_uploads import uploaded_file
from oshaberi.bot.conversation.messages import ChannelMessage
from oshaberi.bot.conversation.persona_options import options_of
from oshaberi.bot.storage.records import LorebookRecord
from oshaberi.bot.turns.context.character import greeting_number, lore_lines, woken_lore
from oshaberi.bot.turns.personas import default_of
from oshaberi.bot.turns.services.lore_shelf import books_in, smallest_window
from oshaberi.checked_json import parse_json
from oshaberi.languages import translated, translated_count

MOST_LISTED = 30
LONGEST_NAME = 80
FIELD_LIMIT = 4000


async def book_named(context: BotContext, server_id: int, name: str) -> LorebookRecord:
    found = await context.db.lorebooks.get(server_id, name)
    if found is None:
        raise CommandRefusedError(
            translated("There is no lorebook {name}; `/lore list` shows all.", name=plain(name))
        )
    return found


async def _read(record: LorebookRecord) -> Lorebook:
    return await asyncio.to_thread(book_from, record.content, record.name)


def checked_title(name: str) -> str:
    title = " ".join(name.split())
    if not 0 < len(title) <= LONGEST_NAME:
        raise CommandRefusedError(
            translated("A lorebook's name has 1 to {most} characters.", most=LONGEST_NAME)
        )
    return title


async def _store(context: BotContext, record: LorebookRecord) -> LorebookRecord:
    """Store a book, if it is small enough and there are not too many."""
    check_book(record, await context.db.lorebooks.of(record.server_id))
    return await context.db.lorebooks.save(record)


# -- list, add, edit, remove -----------------------------------------------------------------------


async def list_lore(context: BotContext, asker: CommandUser, name: str | None) -> str:
    asker.must_manage()
    if name is not None:
        record = await book_named(context, asker.server_id, name)
        entries = (await _read(record)).entries
        lines = [_entry_line(one) for one in entries[:MOST_LISTED]]
        rest = len(entries) - len(lines)
        more = (
            [translated_count("and {count} more entry", "and {count} more entries", rest)]
            if rest
            else []
        )
        return "\n".join([f"**{plain(record.name)}**", *lines, *more])
    books = await context.db.lorebooks.of(asker.server_id)
    personas = {one.id: one.name for one in await context.db.personas.of(asker.server_id)}
    lines = [_book_line(one, personas) for one in books]
    return "\n".join(lines) or translated("There are no lorebooks. Add an entry with `/lore add`.")


def _book_line(record: LorebookRecord, personas: Mapping[int, str]) -> str:
    entries = record.content.get("entries")
    count = len(entries) if isinstance(entries, list) else 0
    facts = [translated_count("{count} entry", "{count} entries", count)]
    if record.persona_id:
        facts.append(plain(personas.get(record.persona_id, "?")))
    if record.channel_id:
        facts.append(f"<#{record.channel_id}>")
    if not record.is_enabled:
        facts.append(translated("off"))
    return f"- **{plain(record.name)}** ({'; '.join(facts)})"


def _entry_line(one: LoreEntry) -> str:
    keys = ", ".join(key if isinstance(key, str) else f"/{key.pattern}/" for key in one.keys[:5])
    always = translated("always") if one.is_constant else keys
    off = "" if one.is_enabled else translated(" (off)")
    return f"{one.number}. {plain(one.label[:60])}: {plain(always[:100])}{off}"


def entry_form(title: str, one: Mapping[str, Any], take: Any) -> CommandForm:
    """Return the form of an entry: keys, further keys, text, and its position."""

    def field(label: str, key: str, value: str, most: int, *, long: bool = False) -> Any:
        return discord.ui.TextInput(
            label=label,
            custom_id=key,
            style=discord.TextStyle.paragraph if long else discord.TextStyle.short,
            max_length=most,
            default=value[:most] or None,
            required=False,
        )

    keys = ", ".join(one.get("keys", ()))
    second = ", ".join(one.get("secondary_keys") or ())
    order = str(one.get("insertion_order", 100))
    return CommandForm(
        title,
        (
            field(translated("Words that wake it; none: it is always there"), "keys", keys, 500),
            field(translated("One of these is needed as well"), "second", second, 500),
            field(translated("What is known"), "content", one.get("content", ""), 4000, long=True),
            field(translated("Its title, for you alone"), "title", one.get("comment") or "", 100),
            field(translated("Order: lower stands higher"), "order", order, 6),
        ),
        take,
    )


def filled_entry(one: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    """Return the entry with the values of its form. Everything else stays as it is."""
    if not values["content"]:
        raise CommandRefusedError(translated("An entry needs a text: what is known."))
    keys, second = _words(values["keys"]), _words(values["second"])
    order = values["order"] or "100"
    if not order.removeprefix("-").isdecimal():
        raise CommandRefusedError(translated("The order is a whole number."))
    return {
        "use_regex": False,
        "enabled": True,
        "extensions": {},
        **one,
        "keys": keys,
        "secondary_keys": second,
        "selective": bool(second),
        "constant": not keys,
        "content": values["content"],
        "comment": values["title"],
        "insertion_order": int(order),
    }


def _words(text: str) -> list[str]:
    """Split keys at commas; a pattern (`/…/`) may contain some."""
    text = text.strip()
    if text.startswith("/") and text.rstrip("gimsuy").endswith("/") and len(text) > 2:
        return [text]
    return [word.strip() for word in text.replace("、", ",").split(",") if word.strip()]


async def add_form(
    context: BotContext, asker: CommandUser, book: str, persona: str | None, where: Where
) -> CommandForm:
    asker.must_manage()
    title = checked_title(book)
    persona_id = await _persona_id(context, asker, persona)
    channel_id = 0 if where is None else where.channel_id

    async def take(sender: CommandUser, values: dict[str, str]) -> str:
        sender.must_manage()
        record = await context.db.lorebooks.get(sender.server_id, title)
        empty = {"name": title, "extensions": {}, "entries": []}
        record = record or LorebookRecord(sender.server_id, title, empty, persona_id, channel_id)
        entry = filled_entry({}, values)
        content = {**record.content, "entries": [*record.content.get("entries", ()), entry]}
        book_from(content)
        saved = await _store(context, replace(record, content=content))
        number = len(content["entries"])
        return translated(
            "**{book}** has the entry {number} now.", book=plain(saved.name), number=number
        )

    return entry_form(translated("New entry: {book}", book=title), {}, take)


async def _persona_id(context: BotContext, asker: CommandUser, name: str | None) -> int:
    if name is None:
        return 0
    found = await persona_named(context, asker.server_id, name)
    if found.id:
        return found.id
    return (await context.db.personas.save(replace(found, sprites=()))).id


async def edit_form(context: BotContext, asker: CommandUser, book: str, number: int) -> CommandForm:
    asker.must_manage()
    one = _entry_of(await book_named(context, asker.server_id, book), number)
    if len(str(one.get("content", ""))) > FIELD_LIMIT:
        raise CommandRefusedError(
            translated(
                "This entry is too long for a form. Change it in the file that `/lore export` "
                "gives you, then use `/lore import`."
            )
        )

    async def take(sender: CommandUser, values: dict[str, str]) -> str:
        sender.must_manage()
        record = await book_named(context, sender.server_id, book)
        entries = list(record.content["entries"])
        entries[number - 1] = filled_entry(_entry_of(record, number), values)
        content = {**record.content, "entries": entries}
        book_from(content)
        await _store(context, replace(record, content=content))
        return translated("Entry {number} is changed.", number=number)

    return entry_form(translated("Entry {number}: {book}", number=number, book=book), one, take)


def _entry_of(record: LorebookRecord, number: int) -> Mapping[str, Any]:
    entries = record.content.get("entries")
    known = entries if isinstance(entries, list) else []
    if not 1 <= number <= len(known):
        raise CommandRefusedError(
            translated("{book} has no entry {number}.", book=plain(record.name), number=number)
        )
    found: Mapping[str, Any] = known[number - 1]
    return found


async def remove_lore(
    context: BotContext, asker: CommandUser, book: str, number: int | None
) -> str:
    asker.must_manage()
    record = await book_named(context, asker.server_id, book)
    shown = plain(record.name)
    if number is None:
        await context.db.lorebooks.delete(asker.server_id, record.name)
        return translated("**{book}** is deleted.", book=shown)
    _entry_of(record, number)
    entries = list(record.content["entries"])
    del entries[number - 1]
    await context.db.lorebooks.save(replace(record, content={**record.content, "entries": entries}))
    return translated("**{book}** no longer has the entry {number}.", book=shown, number=number)


@dataclass(frozen=True, slots=True)
class BookChanges:
    """What `/lore set` changes. None leaves a value as it is."""

    enabled: bool | None = None
    scan_depth: int | None = None
    tokens: int | None = None
    recursive: bool | None = None
    persona: str | None = None
    where: Where = None
    for_all: bool = False


async def set_lore(
    context: BotContext, asker: CommandUser, book: str, number: int | None, wanted: BookChanges
) -> str:
    """Change a book, or switch one of its entries on or off, and say how it is now."""
    asker.must_manage()
    record = await book_named(context, asker.server_id, book)
    if number is None:
        record = await _changed_book(context, asker, record, wanted)
    elif wanted == BookChanges(wanted.enabled) and wanted.enabled is not None:
        one = {**_entry_of(record, number), "enabled": wanted.enabled}
        entries = list(record.content["entries"])
        entries[number - 1] = one
        record = replace(record, content={**record.content, "entries": entries})
    else:
        raise CommandRefusedError(translated("Of an entry, `enabled` alone can be set here."))
    saved = await _store(context, record)
    if number is not None:
        return _entry_line((await _read(saved)).entries[number - 1])
    return await _told_of(context, saved)


async def _changed_book(
    context: BotContext, asker: CommandUser, record: LorebookRecord, wanted: BookChanges
) -> LorebookRecord:
    if wanted.for_all:
        record = replace(record, persona_id=0, channel_id=0)
    if wanted.persona is not None:
        record = replace(record, persona_id=await _persona_id(context, asker, wanted.persona))
    if wanted.where is not None:
        record = replace(record, channel_id=wanted.where.channel_id)
    if wanted.enabled is not None:
        record = replace(record, is_enabled=wanted.enabled)
    fields = {
        "scan_depth": wanted.scan_depth,
        "token_budget": wanted.tokens,
        "recursive_scanning": wanted.recursive,
    }
    chosen = {key: value for key, value in fields.items() if value is not None}
    return replace(record, content={**record.content, **chosen})


async def _told_of(context: BotContext, record: LorebookRecord) -> str:
    book = await _read(record)
    personas = {one.id: one.name for one in await context.db.personas.of(record.server_id)}
    depth = SCAN_DEPTH if book.scan_depth is None else book.scan_depth
    lines = [
        _book_line(record, personas),
        translated_count(
            "It looks back {count} message.", "It looks back {count} messages.", depth
        ),
    ]
    if book.token_budget is not None:
        lines.append(
            translated_count(
                "It fills at most {count} token.",
                "It fills at most {count} tokens.",
                book.token_budget,
            )
        )
    if not book.is_recursive:
        lines.append(translated("Its entries do not wake each other."))
    return "\n".join(lines)


# -- files ---------------------------------------------------------------------------------------


async def import_lore(
    context: BotContext,
    asker: CommandUser,
    file: discord.Attachment,
    persona: str | None,
    where: Where,
) -> str:
    """Store a book of any form. It replaces one of the same name."""
    asker.must_manage()
    content = await uploaded_file(file, LARGEST_BOOK)
    book = await asyncio.to_thread(_book_in, content, file.filename)
    title = checked_title(book.name[:LONGEST_NAME])
    persona_id = await _persona_id(context, asker, persona)
    known = await context.db.lorebooks.get(asker.server_id, title)
    record = known or LorebookRecord(asker.server_id, title)
    channel_id = 0 if where is None else where.channel_id
    await _store(
        context,
        replace(record, content=book.data, persona_id=persona_id, channel_id=channel_id),
    )
    count = len(book.entries)
    return translated_count(
        "**{book}** is here with {count} entry.",
        "**{book}** is here with {count} entries.",
        count,
        book=plain(title),
    )


def _book_in(content: bytes, file_name: str) -> Lorebook:
    try:
        document = parse_json(content.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        raise CommandRefusedError(
            translated("{name} is not JSON, as lorebooks are.", name=plain(file_name[:100]))
        ) from None
    return book_from(document, file_name.rpartition(".")[0][:LONGEST_NAME] or "lore")


def written(record: LorebookRecord, form: str) -> bytes:
    """Write a book as JSON of V3, or as SillyTavern's own file."""
    document: dict[str, Any] = {"spec": "lorebook_v3", "data": dict(record.content)}
    if form == "sillytavern":
        document = as_sillytavern(record.content)
    return json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8", "replace")


# -- test ----------------------------------------------------------------------------------------


async def tried_lore(
    context: BotContext, asker: CommandUser, text: str, persona: str | None
) -> str:
    """Say which entries this message would wake here, and why, and which do not fit."""
    asker.must_manage()
    server_id = asker.server_id
    personas = await context.channel_turns.persona_cache.of(server_id)
    who = default_of(personas)
    if persona is not None:
        who = await persona_named(context, server_id, persona)
    settings = await context.services.settings(asker.path)
    shelf = await context.services.lore.of(context.db, server_id)
    books = books_in(shelf, who, asker.path.ids)
    message = ChannelMessage(1, asker.person, text, context.services.clock())
    chain = await context.services.models.chain(asker.path, asker.person.id, options_of(who).models)
    found = await woken_lore(
        books,
        [message],
        settings.turn.lore_budget_share,
        smallest_window(one.model for one in chain),
        greeting_number(who, asker.channel_id),
    )
    lines = [plain(one) if one[:1] != "-" else f"- {plain(one[2:])}" for one in lore_lines(found)]
    return "\n".join(lines) or translated("It wakes nothing.")


# -- commands ------------------------------------------------------------------------------------

lore = app_commands.Group(
    name="lore", description="What the characters know", default_permissions=MANAGER
)


@lore.command(name="list", description="List the lorebooks of this server, or the entries of one")
@app_commands.describe(book="Whose entries; all books if left out")
async def list_(interaction: Interaction, book: Chosen | None = None) -> None:
    await answer(interaction, list_lore(context_of(interaction), asker_of(interaction), book))


@lore.command(description="Add an entry; a form asks for its words and its text")
@app_commands.rename(place="in")
@app_commands.describe(
    book="Which lorebook; a new one if there is none of this name",
    persona="Only for this persona, if the book is new",
    place="Only in this channel, thread or category, if the book is new",
)
async def add(
    interaction: Interaction,
    book: Chosen,
    persona: Chosen | None = None,
    place: PlaceOption | None = None,
) -> None:
    context, asker, where = context_in(interaction, place)
    form = await add_form(context, asker, book, persona, where)
    await interaction.response.send_modal(form)


@lore.command(description="Change an entry of a lorebook")
@app_commands.describe(book="Which lorebook", entry="The number of the entry: /lore list")
async def edit(
    interaction: Interaction, book: Chosen, entry: app_commands.Range[int, 1, 2000]
) -> None:
    form = await edit_form(context_of(interaction), asker_of(interaction), book, entry)
    await interaction.response.send_modal(form)


@lore.command(description="Remove a lorebook, or one of its entries")
@app_commands.describe(book="Which lorebook", entry="Only this entry, by its number")
async def remove(
    interaction: Interaction, book: Chosen, entry: app_commands.Range[int, 1, 2000] | None = None
) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    asker.must_manage()
    record = await book_named(context, asker.server_id, book)
    if entry is not None:
        await answer(interaction, remove_lore(context, asker, book, entry))
        return
    await ask_first(
        interaction,
        translated("Delete **{book}**? This cannot be undone.", book=plain(record.name)),
        translated("Delete it"),
        lambda asker: remove_lore(context, asker, book, None),
    )


@lore.command(name="set", description="Switch a lorebook or an entry off, or limit a book")
@app_commands.rename(place="in")
@app_commands.describe(
    book="Which lorebook",
    entry="Only this entry, by its number",
    enabled="Whether it is used",
    scan_depth="How many messages it looks back; 0: only other entries wake its entries",
    tokens="How many tokens it may fill",
    recursive="Whether its entries wake each other",
    persona="Only for this persona",
    place="Only in this channel, thread or category",
    for_all="For all personas and channels again",
)
async def set_(
    interaction: Interaction,
    book: Chosen,
    entry: app_commands.Range[int, 1, 2000] | None = None,
    enabled: bool | None = None,
    scan_depth: app_commands.Range[int, 0, MOST_DEPTH] | None = None,
    tokens: app_commands.Range[int, 0, 1_000_000] | None = None,
    recursive: bool | None = None,
    persona: Chosen | None = None,
    place: PlaceOption | None = None,
    for_all: bool = False,
) -> None:
    context, asker, where = context_in(interaction, place)
    wanted = BookChanges(enabled, scan_depth, tokens, recursive, persona, where, for_all)
    await answer(interaction, set_lore(context, asker, book, entry, wanted))


@lore.command(name="import", description="Bring in a lorebook: of a card, or SillyTavern's file")
@app_commands.rename(place="in")
@app_commands.describe(
    file="A JSON file",
    persona="Only for this persona",
    place="Only in this channel, thread or category",
)
async def import_(
    interaction: Interaction,
    file: discord.Attachment,
    persona: Chosen | None = None,
    place: PlaceOption | None = None,
) -> None:
    context, asker, where = context_in(interaction, place)
    await answer(interaction, import_lore(context, asker, file, persona, where))


@lore.command(description="Write a lorebook as a file")
@app_commands.describe(book="Which lorebook", form="For which programs")
@app_commands.rename(form="format")
@app_commands.choices(
    form=[
        app_commands.Choice(name="V3 (cards)", value="v3"),
        app_commands.Choice(name="SillyTavern", value="sillytavern"),
    ]
)
async def export(interaction: Interaction, book: Chosen, form: str = "v3") -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    asker.must_manage()
    record = await book_named(context, asker.server_id, book)
    content = await asyncio.to_thread(written, record, form)
    safe = "".join(sign if sign.isalnum() else "_" for sign in record.name)[:60].strip("_")
    file = discord.File(io.BytesIO(content), f"{safe or 'lore'}.json")
    words = translated("**{name}** as a file:", name=plain(record.name))
    await interaction.response.send_message(words, file=file, ephemeral=True)


@lore.command(name="test", description="See which entries a message would wake, and why")
@app_commands.describe(message="What somebody says", persona="Who would answer")
async def try_(
    interaction: Interaction,
    message: app_commands.Range[str, 1, 2000],
    persona: Chosen | None = None,
) -> None:
    work = tried_lore(context_of(interaction), asker_of(interaction), message, persona)
    await answer(interaction, work)


@list_.autocomplete("book")
@add.autocomplete("book")
@edit.autocomplete("book")
@remove.autocomplete("book")
@set_.autocomplete("book")
@export.autocomplete("book")
async def _books(interaction: Interaction, typed: str) -> Choices:
    asker = asker_of(interaction)
    books = await context_of(interaction).db.lorebooks.of(asker.server_id)
    books = books if asker.may_manage else ()
    return choices(typed, ((one.name, one.name) for one in books))


@add.autocomplete("persona")
@import_.autocomplete("persona")
@set_.autocomplete("persona")
@try_.autocomplete("persona")
async def _personas(interaction: Interaction, typed: str) -> Choices:
    return await persona_choices(context_of(interaction), asker_of(interaction).server_id, typed)


COMMANDS = (lore,)
