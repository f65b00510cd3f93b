"""Builds the context items that a model is shown in one turn. Pure (spec 01, spec 08).

Only our own words and the persona's prompt are system text. Everything that others wrote, named or
asked us to keep is shown as something that was said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from oshaberi.conversation.conversation_messages import (
    AttachedFile,
    ChannelInfo,
    ChannelMessage,
    IncomingMessage,
    Person,
)
from oshaberi.conversation.transcript_lines import (
    INDENT,
    TranscriptNames,
    indented,
    is_image,
    line,
    plain_name,
    reserved_names,
    shortened,
    words_of,
)
from oshaberi.providers.request.context_items import (
    ContextItem,
    FilePart,
    ImagePart,
    Part,
    TextPart,
    said,
)
from oshaberi.storage.stored_records import ConversationSummary, Exchange, Fact, PersonaRecord
from oshaberi.turns.context.context_notes import memory_note, place_note
from oshaberi.turns.context.history_summary import summary_note
from oshaberi.turns.context.message_attribution import AttributedSpeaker, MessageAttribution
from oshaberi.turns.context.system_text import rules
from oshaberi.turns.post_turn.shown_reasoning import is_shown_thought

MOST_IMAGES = 8
MOST_OLD_IMAGES = 4
GO_ON = (
    "(Go on exactly where your last message stopped. Do not repeat what is already there, "
    "and do not comment on this note.)"
)


@dataclass(frozen=True, slots=True)
class TurnSurroundings:
    """Everything that one answer depends on.

    `sprites` and `tables` have the original form of our messages, which Discord shows
    differently. `texts` has the contents of small files by URL. `go_on`: nothing new was asked.
    """

    asked: tuple[IncomingMessage, ...]
    persona: PersonaRecord
    personas: tuple[PersonaRecord, ...]
    channel_info: ChannelInfo
    now: datetime
    facts: tuple[Fact, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    sprites: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    tables: Mapping[int, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    go_on: bool = False
    told: frozenset[int] = frozenset()
    """Messages whose words are in `asked` already."""
    summary: ConversationSummary | None = None
    """Stands for the messages up to its last one."""
    silence_marker: str = ""
    """Given if nobody addressed the bot: the model writes it to say nothing."""

    @property
    def newest(self) -> ChannelMessage:
        """Return the message that is answered."""
        return self.asked[-1].said

    @property
    def history(self) -> tuple[ChannelMessage, ...]:
        """Return the history without the current question and our shown thoughts."""
        asked = set() if self.go_on else {incoming.said.id for incoming in self.asked}
        left_out = asked | self.told
        after_id = -1 if self.summary is None else self.summary.last_id
        return tuple(
            one
            for one in self.channel_info.history
            if one.id > after_id
            and one.id not in left_out
            and not (one.by_us and is_shown_thought(one.text))
        )


def context_items(around: TurnSurroundings) -> tuple[ContextItem, ...]:
    """Return all items: the rules, the persona, the notes, then the conversation."""
    return (
        said("system", rules(around.persona, around.channel_info, around.silence_marker), "system"),
        *_persona(around.persona),
        *_notes(around),
        *_ContextDialogue(around).items(),
    )


def without_oldest(items: tuple[ContextItem, ...]) -> tuple[ContextItem, ...]:
    """Drop the older half of the history, in whole pairs."""
    old = [number for number, item in enumerate(items) if item.tag == "history"]
    drop = -(-len(old) // 2)
    while drop < len(old) and items[old[drop]].role == "assistant":
        drop += 1
    dropped = set(old[:drop])
    return tuple(item for number, item in enumerate(items) if number not in dropped)


def _persona(persona: PersonaRecord) -> Iterator[ContextItem]:
    if persona.prompt.strip():
        yield said("system", persona.prompt.strip(), "persona")
    for asked, answered in persona.samples:
        yield said("user", asked, "sample")
        yield said("assistant", answered, "sample")


def _notes(around: TurnSurroundings) -> Iterator[ContextItem]:
    yield said(
        "user",
        place_note(around.channel_info, around.personas, around.persona, around.now),
        "knowledge",
    )
    history = around.history
    since = history[0].at if history else None
    memory = memory_note(around.facts, around.exchanges, since)
    if memory:
        yield said("user", memory, "memory")
    if around.summary is not None:
        yield summary_note(around.summary)


class _ContextDialogue:
    """The history and the current message."""

    def __init__(self, around: TurnSurroundings) -> None:
        self._around = around
        self._history = around.history
        self._names = TranscriptNames(
            self._people(), reserved_names(around.personas, around.channel_info.bot_name)
        )
        self._reader = MessageAttribution(
            around.personas, around.channel_info.bot_name, around.sprites, around.tables
        )
        self._by_id = {one.id: one for one in self._everything()}
        self._old_images = _newest_images(self._history)

    def items(self) -> Iterator[ContextItem]:
        after = self._after()
        later = {one.id for one in after}
        yield from self._told(one for one in self._history if one.id not in later)
        yield ContextItem("user", tuple(self._current(after)), "current")

    def _people(self) -> Iterator[Person]:
        yield from self._around.channel_info.people
        for one in self._everything():
            yield from one.mentions
            if not one.by_us:
                yield one.author

    def _everything(self) -> Iterator[ChannelMessage]:
        yield from self._history
        for incoming in self._around.asked:
            if incoming.replied is not None:
                yield incoming.replied
            yield incoming.said

    def _after(self) -> list[ChannelMessage]:
        """Return answers of other personas to the question. They come after it."""
        if self._around.go_on:
            return []
        newest = self._around.newest.id
        return [one for one in self._history if one.id > newest and self._is_another(one)]

    def _is_another(self, one: ChannelMessage) -> bool:
        return one.by_us and self._reader.read(one).persona != self._around.persona.name

    def _told(self, history: Iterator[ChannelMessage]) -> Iterator[ContextItem]:
        worn: str | None = None
        for one in history:
            spoken = self._reader.read(one) if one.by_us else None
            if spoken is None or spoken.persona != self._around.persona.name:
                worn = None
                yield ContextItem("user", tuple(self._parts(one, spoken)), message_id=one.id)
            elif spoken.text:
                text = TextPart(_labelled(spoken, worn))
                yield ContextItem("assistant", (text,), message_id=one.id)
                worn = spoken.modifier

    def _current(self, after: list[ChannelMessage]) -> Iterator[Part]:
        if self._around.go_on:
            yield TextPart(GO_ON)
            return
        images = MOST_IMAGES
        for incoming in self._around.asked:
            spoken = self._reader.read(incoming.said) if incoming.said.by_us else None
            for part in self._parts(incoming.said, spoken, incoming.replied):
                images -= isinstance(part, ImagePart)
                if images >= 0 or not isinstance(part, ImagePart):
                    yield part
            for file in incoming.replied.files if incoming.replied else ():
                if is_image(file) and images > 0:
                    images -= 1
                    yield ImagePart(file.url, mime=file.mime)
        for one in after:
            yield from self._parts(one, self._reader.read(one))

    def _parts(
        self,
        one: ChannelMessage,
        spoken: AttributedSpeaker | None,
        replied: ChannelMessage | None = None,
    ) -> Iterator[Part]:
        name = self._name(one, spoken)
        words = self._words(one, spoken)
        yield TextPart(line(name, words, self._quote(one, replied)))
        if spoken is not None:
            return
        for file in one.files:
            yield from self._file(file, is_old=one.id not in self._asked_ids)

    @property
    def _asked_ids(self) -> set[int]:
        return {incoming.said.id for incoming in self._around.asked}

    def _file(self, file: AttachedFile, *, is_old: bool) -> Iterator[Part]:
        text = self._around.texts.get(file.url)
        if text is not None:
            # Moved in like every message, so that no line of it passes for a speaker's.
            yield FilePart(plain_name(file.name), INDENT + indented(text), mime=file.mime)
        elif is_image(file) and (not is_old or file.url in self._old_images):
            yield ImagePart(file.url, mime=file.mime)

    def _name(self, one: ChannelMessage, spoken: AttributedSpeaker | None) -> str:
        if spoken is None:
            return self._names.of(one.author)
        return f"{spoken.persona} ({spoken.modifier})" if spoken.modifier else spoken.persona

    def _words(self, one: ChannelMessage, spoken: AttributedSpeaker | None) -> str:
        return words_of(self._names.in_text(one)) if spoken is None else spoken.text

    def _quote(self, one: ChannelMessage, replied: ChannelMessage | None) -> str:
        if replied is None and one.reply_to is not None:
            replied = self._by_id.get(one.reply_to)
        if replied is None:
            return ""
        spoken = self._reader.read(replied) if replied.by_us else None
        words = shortened(self._words(replied, spoken))
        quote = f"in reply to {self._name(replied, spoken)}"
        return f'{quote}: "{words}"' if words else quote


def _labelled(spoken: AttributedSpeaker, worn: str | None) -> str:
    """Add a label where the sprite changes, a plain one where it changes back (spec 06 S2)."""
    if spoken.modifier == worn:
        return spoken.text
    if spoken.modifier is None:
        return f"{spoken.persona}: {spoken.text}"
    return f"{spoken.persona} ({spoken.modifier}): {spoken.text}"


def _newest_images(history: tuple[ChannelMessage, ...]) -> set[str]:
    found = [file.url for one in history if not one.by_us for file in one.files if is_image(file)]
    return set(found[-MOST_OLD_IMAGES:])
