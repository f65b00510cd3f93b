"""Everything that one answer depends on: collected, and passed to the text engine.

A part that cannot be read is left out: an answer with less memory is better than none.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple, TypeVar

from oshaberi.bot.characters.lore_scan import LoreScan
from oshaberi.bot.conversation.messages import (
    AttachedFile,
    ChannelInfo,
    ChannelMessage,
    IncomingMessage,
    Person,
    said_since,
    time_of_id,
    visible_exchanges,
    visible_history,
)
from oshaberi.bot.conversation.persona_options import memory_of
from oshaberi.bot.conversation.transcript import is_beside_the_answer
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.records import (
    AnswerReaction,
    ConversationSummary,
    Exchange,
    Fact,
    PersonaRecord,
    StoredSurroundings,
    SurroundingsQuery,
)
from oshaberi.bot.turns.admission.channel_queue import QueuedJob, TurnRequest
from oshaberi.bot.turns.admission.occasions import Occasion
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.bot.turns.context.character import greeting_number, woken_lore
from oshaberi.bot.turns.context.elsewhere import Elsewhere, read_elsewhere
from oshaberi.bot.turns.personas import MessageAttribution
from oshaberi.bot.turns.services.lore_shelf import LoreShelf, books_in
from oshaberi.bot.turns.services.model_access import OperatorChoices
from oshaberi.bot.turns.services.turn_services import ReadText, UsableFaces, as_they_are
from oshaberi.text.config import Known, Persona, Sprite, TextConfig


class HistoryStart(NamedTuple):
    """Where a channel's history and memories began in the last request to a model.

    They begin there again until they are too long. So most requests begin with the same messages
    as the one before, which a model's API may have in its cache.
    """

    message_id: int
    exchange_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class TurnSurroundings:
    """Everything that one answer depends on.

    `sprites` and `tables` have the original form of the bot's messages, which Discord shows
    differently. `texts` has the contents of small files by URL. `go_on`: nothing new was asked.
    """

    asked: tuple[IncomingMessage, ...]
    persona: PersonaRecord
    personas: tuple[PersonaRecord, ...]
    channel_info: ChannelInfo
    history: tuple[ChannelMessage, ...]
    """The channel's history as the model sees it (`shown_history`)."""
    now: datetime
    facts: tuple[Fact, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    sprites: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    tables: Mapping[int, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    go_on: bool = False
    summary: ConversationSummary | None = None
    """Replaces the messages up to its last one."""
    silence_marker: str = ""
    """Given if nobody addressed the bot: the model writes it to say nothing."""
    is_uninvited: bool = False
    """Whether nobody addressed the bot."""
    answered_ids: frozenset[int] = frozenset()
    """The messages with which other personas answered the same question."""
    waiting_ids: frozenset[int] = frozenset()
    """Questions in the history that get their own answer after this one."""
    lore: LoreScan = field(default_factory=LoreScan)
    """The entries of lorebooks that the conversation wakes."""
    reactions: tuple[AnswerReaction, ...] = ()
    """How people reacted to the bot's messages in the history, if the model is to know."""
    instruction: str = ""
    """What an admin of the server tells the model in this channel."""
    elsewhere: Elsewhere = field(default_factory=Elsewhere)
    """What links lead to, and the beginning of the thread."""
    occasion: Occasion | None = None
    """What made the bot speak, if nobody has just written. It takes the place of the question."""

    @property
    def newest(self) -> ChannelMessage:
        """Return the message that is answered."""
        return self.asked[-1].said


def shown_history(
    history: Iterable[ChannelMessage],
    left_out: Collection[int],
    summary: ConversationSummary | None,
) -> tuple[ChannelMessage, ...]:
    """Return the history without the current question and without the lines beside answers."""
    after_id = -1 if summary is None else summary.last_id
    return tuple(
        one
        for one in history
        if one.id > after_id
        and one.id not in left_out
        and not (one.by_us and is_beside_the_answer(one.text))
    )


log = logging.getLogger(__name__)

T = TypeVar("T")

MOST_FILES = 4
MOST_REACTIONS = 30
"""How many reactions are passed to the model."""
MOST_BYTES = 64 * 1024
_TEXTS = (
    "application/json",
    "application/xml",
    "application/yaml",
    "application/toml",
    "application/javascript",
    "application/x-sh",
)


@dataclass(frozen=True, slots=True)
class ContextSources:
    """Where the surroundings of turns come from, besides their channels."""

    db: Database
    operator: OperatorChoices
    lore: LoreShelf
    clock: Callable[[], datetime]
    history_starts: BoundedCache[int, HistoryStart]
    read_text: ReadText | None = None
    usable_faces: UsableFaces = as_they_are


async def surroundings(
    sources: ContextSources, asked: TurnRequest, window: int | None
) -> TurnSurroundings:
    """Collect what an answer depends on. Parts that fail are left out.

    `window` is the smallest context window in the chain of models, if their options state one.
    """
    job = asked.job
    config, question = job.settings.turn, job.newest.said
    asker, channel_id = question.author, job.turn_channel.channel_id
    limit = 0 if job.kind == "deliver" else config.history_messages + len(job.asked)
    channel_info = await job.turn_channel.channel_info(job.before, limit)
    since = _latest(sources.operator.context_since, channel_info.after_id)
    visible = visible_history(channel_info.history, asker, job.user_id)
    keeps_start = asker.can_read_history and job.before is None
    start = sources.history_starts.get(channel_id) if keeps_start else None
    visible, is_new = _from_start(visible, start, limit, config.history_messages // 2)
    channel_info = replace(channel_info, history=said_since(visible, since))
    ours = [one.id for one in channel_info.history if one.by_us]
    faces = sources.usable_faces(job.turn_channel.server_id, asked.persona, job.personas)
    stored, texts, lore, reactions, elsewhere, (persona, personas) = await asyncio.gather(
        _or("memory", _stored(sources.db, job, ours), StoredSurroundings()),
        _texts(sources.read_text, job, channel_info),
        _or("lore", _lore(sources, asked, channel_info, window), LoreScan()),
        _or("reactions", _reactions(sources.db, job, ours), ()),
        _or("what stands elsewhere", read_elsewhere(job, channel_info, since), Elsewhere()),
        faces,
    )
    exchanges = stored.exchanges
    if keeps_start and is_new and visible:
        start = HistoryStart(visible[0].id, _first_shown(exchanges, config.short_memory_size))
        sources.history_starts.put(channel_id, start)
    if start is not None and start.exchange_at is not None:
        first_at = start.exchange_at
        exchanges = tuple(one for one in exchanges if one.at is None or one.at >= first_at)
    exchanges = tuple(_remembered(exchanges, asked))
    go_on = job.kind == "go_on"
    summary = _summary(stored, question, is_wanted=config.summarise_history)
    if summary is not None and summary.first_id <= channel_info.after_id:
        summary = None
    asked_ids = () if go_on else job.message_ids
    return TurnSurroundings(
        asked=job.asked,
        persona=persona,
        personas=personas,
        channel_info=channel_info,
        history=shown_history(channel_info.history, {*asked_ids, *job.hidden_ids}, summary),
        now=sources.clock(),
        facts=tuple(one for one in stored.facts if one.persona_id == memory_of(asked.persona)),
        exchanges=said_since(visible_exchanges(exchanges, asker, job.user_id), since),
        sprites=stored.sprites,
        tables=stored.tables,
        texts=texts,
        go_on=go_on,
        summary=summary,
        silence_marker=_silence_marker(job),
        is_uninvited=job.is_uninvited,
        answered_ids=asked.answered_ids,
        waiting_ids=asked.waiting_ids(),
        lore=lore,
        reactions=reactions,
        instruction=config.channel_instruction,
        elsewhere=elsewhere,
        occasion=job.occasion,
    )


def _latest(since: datetime | None, after_id: int) -> datetime | None:
    """Return the later of a time and a message's time."""
    if not after_id:
        return since
    written = time_of_id(after_id)
    return written if since is None else max(since, written)


def _remembered(exchanges: Iterable[Exchange], asked: TurnRequest) -> Iterator[Exchange]:
    """Yield the exchanges that the persona knows. One with a memory of its own shares none."""
    own_name = asked.persona.name
    apart = {one.name for one in asked.job.personas if memory_of(one)}
    for one in exchanges:
        if one.persona == own_name or (own_name not in apart and one.persona not in apart):
            yield one


async def _lore(
    sources: ContextSources, asked: TurnRequest, channel_info: ChannelInfo, window: int | None
) -> LoreScan:
    """Return the lore that the question and the messages before it wake."""
    job = asked.job
    if job.kind == "deliver":
        return LoreScan()
    shelf = await sources.lore.of(sources.db, job.turn_channel.server_id)
    books = books_in(shelf, asked.persona, job.turn_channel.path.ids)
    newest_id = job.newest.said.id
    seen = {one.id: one for one in channel_info.history if one.id <= newest_id}
    seen |= {incoming.said.id: incoming.said for incoming in job.asked}
    share = job.settings.turn.lore_budget_share
    greeting = greeting_number(asked.persona, job.turn_channel.channel_id) if books else None
    return await woken_lore(books, seen.values(), share, window, greeting)


def _from_start(
    history: tuple[ChannelMessage, ...], start: HistoryStart | None, most: int, fewer: int
) -> tuple[tuple[ChannelMessage, ...], bool]:
    """Return the history from where it began last time, and whether it begins elsewhere now.

    One that has become too long loses its older half.
    """
    if not history or (start is not None and start.message_id >= history[0].id):
        known = start.message_id if start is not None else 0
        return tuple(one for one in history if one.id >= known) or history, False
    if start is not None and len(history) >= most:
        history = history[fewer:]
    return history, True


def _first_shown(exchanges: Sequence[Exchange], most: int) -> datetime | None:
    """Return the time of the first exchange that the coming turns will show, too."""
    shown = exchanges[-max(most - most // 4, 1) :]
    return shown[0].at if len(shown) < len(exchanges) else None


def _silence_marker(job: QueuedJob) -> str:
    """Return the silence marker, or none: somebody who addresses the bot wants an answer."""
    return next(iter(job.settings.turn.silence_markers), "") if job.is_unaddressed else ""


async def _or(what: str, work: Awaitable[T], instead: T) -> T:
    """Return the result, or `instead` if it fails.

    An answer with less memory is better than no answer.
    """
    try:
        return await work
    except StorageAwayError as error:
        log.warning("%s could not be read; the turn goes on without: %s", what, error)
        return instead
    except Exception:
        log.exception("%s could not be read; the turn goes on without", what)
        return instead


async def _stored(db: Database, job: QueuedJob, ours: list[int]) -> StoredSurroundings:
    """Read the stored surroundings. `ours` are the bot's own messages in the history."""
    place, exchanges = job.turn_channel, job.settings.turn.short_memory_size
    query = SurroundingsQuery(place.server_id, job.user_id, place.channel_id, exchanges, ours)
    return await db.reading.surroundings(query)


async def _reactions(db: Database, job: QueuedJob, ours: list[int]) -> tuple[AnswerReaction, ...]:
    """Read how people reacted to these messages of the bot."""
    if not job.settings.turn.reactions_in_context or job.kind == "deliver" or not ours:
        return ()
    found = await db.reactions.to(ours, MOST_REACTIONS)
    return tuple(one for one in found if one.user_id not in db.opt_outs)


def _summary(
    stored: StoredSurroundings, question: ChannelMessage, *, is_wanted: bool
) -> ConversationSummary | None:
    """Return the summary, if it may be used.

    A summary of messages after the question must not be used, which happens if an old message is
    answered again.
    """
    found = stored.summary
    if found is None or not is_wanted or not question.author.can_read_history:
        return None
    return found if found.last_id < question.id else None


async def _texts(
    read_text: ReadText | None, job: QueuedJob, channel_info: ChannelInfo
) -> Mapping[str, str]:
    """Read attached text files: first those of the question, then the newest of the history."""
    if read_text is None or job.kind == "deliver":
        return {}
    wanted = dict.fromkeys(_readable(job, channel_info))
    files = list(wanted)[:MOST_FILES]
    found = await asyncio.gather(*(_or(f.name, read_text(f), None) for f in files))
    return {file.url: text for file, text in zip(files, found, strict=True) if text}


def _readable(job: QueuedJob, channel_info: ChannelInfo) -> Iterator[AttachedFile]:
    asked: list[ChannelMessage] = []
    for incoming in job.asked:
        asked += [incoming.said, *([incoming.replied] if incoming.replied else [])]
    for one in [*asked, *reversed(channel_info.history)]:
        if not one.by_us:
            yield from (file for file in one.files if _is_text(file))


def _is_text(file: AttachedFile) -> bool:
    fits = 0 < file.size <= MOST_BYTES
    return fits and (file.mime.startswith("text/") or file.mime in _TEXTS)


_NAME = re.compile(r"(?<!<)(?<!<a):(\w+):(?!\d)")
_TAG = re.compile(r"<a?:(\w+):\d+>")


def text_config(base: TextConfig, around: TurnSurroundings) -> TextConfig:
    """Return the server's settings with the persona, people, emoji and recent messages."""
    known = _known(around)
    return replace(
        base,
        persona=_with_own_names(persona_of(around.persona), around, known),
        known=tuple(known),
        emojis=around.channel_info.emojis,
        recent_bot_messages=_recent(around, base.emoji_unique_lookback),
        seed=around.newest.id,
    )


def persona_of(record: PersonaRecord) -> Persona:
    return Persona(
        record.name,
        record.aliases,
        is_alter=not record.is_default,
        avatar_url=record.avatar_url,
        sprites=tuple(Sprite(s.name, s.avatar_url, s.is_identity) for s in record.sprites),
    )


def _with_own_names(persona: Persona, around: TurnSurroundings, known: Sequence[Known]) -> Persona:
    """Add the names by which the model may label its own words (spec 06 S4).

    These are the bot's name, the persona's trigger words and, for an alter, the default
    persona's name.
    """
    defaults = [one.name for one in around.personas if one.is_default and persona.is_alter]
    names = (*persona.aliases, around.channel_info.bot_name, *around.persona.triggers, *defaults)
    others = {name.casefold() for one in known if one.name not in defaults for name in one.names}
    own = [name for name in names if name.strip() and name.casefold() not in others]
    return replace(persona, aliases=tuple(dict.fromkeys(own)))


def speakers(config: TextConfig) -> tuple[str, ...]:
    """Return the names for which the model must not speak."""
    persona = config.persona
    own = set() if persona is None else {name.casefold() for name in persona.names}
    names = (name for one in config.known for name in one.names if name.casefold() not in own)
    return tuple(dict.fromkeys(names))


def _known(around: TurnSurroundings) -> list[Known]:
    people: dict[int, Person] = {person.id: person for person in around.channel_info.people}
    for incoming in around.asked:
        if not incoming.said.by_us:
            people.setdefault(incoming.user_id, incoming.said.author)
    writers, speakers = _participants(around)
    known = [
        Known(
            person.name,
            "user",
            str(person.id),
            tuple(filter(str.strip, person.handles)),
            person.avatar_url,
            takes_part=person.id in writers,
        )
        for person in people.values()
        if person.name.strip()
    ]
    others = [one for one in around.personas if one.name != around.persona.name]
    return known + [
        Known(
            one.name,
            "persona",
            aliases=one.aliases,
            avatar_url=one.avatar_url,
            takes_part=one.name in speakers,
        )
        for one in others
    ]


def _participants(around: TurnSurroundings) -> tuple[set[int], set[str]]:
    """Return the ids of the people who wrote, and the names of the personas that spoke."""
    reader = MessageAttribution(
        around.personas, around.channel_info.bot_name, around.sprites, around.tables
    )
    asked = (incoming.said for incoming in around.asked)
    everything = (*around.channel_info.history, *asked)
    return (
        {one.author.id for one in everything if not one.by_us},
        {reader.read(one).persona for one in everything if one.by_us},
    )


def _recent(around: TurnSurroundings, lookback: int) -> tuple[str, ...]:
    """Return the bot's last messages, with emoji in Discord's syntax."""
    if not lookback:
        return ()
    tags = {found[1]: tag for tag in around.channel_info.emojis if (found := _TAG.fullmatch(tag))}
    texts = [one.text for one in around.history if one.by_us][-lookback:]
    return tuple(_NAME.sub(lambda found: tags.get(found[1], found[0]), text) for text in texts)
