"""Writes the conversation for a model, in the order of the channel. Pure (spec 08).

The question stays where it was asked. If something was said after it, a note at the end names the
question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from oshaberi.bot.conversation.messages import (
    AttachedFile,
    ChannelMessage,
    IncomingMessage,
    Person,
)
from oshaberi.bot.conversation.transcript import (
    INDENT,
    TranscriptNames,
    embed_notes,
    indented,
    is_image,
    line,
    plain_name,
    reserved_names,
    shortened,
    words_of,
)
from oshaberi.bot.turns.admission.occasions import Occasion
from oshaberi.bot.turns.context.surroundings import TurnSurroundings
from oshaberi.bot.turns.personas import AttributedSpeaker, MessageAttribution
from oshaberi.providers.request.model_request import (
    ContextItem,
    FilePart,
    ImagePart,
    Part,
    TextPart,
    said,
)

MOST_IMAGES = 8
MOST_OLD_IMAGES = 4
MOST_ASKED = 300
"""How many characters of the question are repeated in the note at the end."""
GO_ON = (
    "(Go on exactly where your last message stopped. Do not repeat what is already there, "
    "and do not comment on this note.)"
)


class ContextDialogue:
    """The history and the question in it."""

    def __init__(self, around: TurnSurroundings) -> None:
        self._around = around
        self._history = around.history
        self._newest_id = around.newest.id
        self._names = TranscriptNames(
            self._people(), reserved_names(around.personas, around.channel_info.bot_name)
        )
        self._known = {one.id: one for one in self._people()} if around.reactions else {}
        self._reader = MessageAttribution(
            around.personas, around.channel_info.bot_name, around.sprites, around.tables
        )
        self._asked = {incoming.said.id: incoming for incoming in around.asked}
        self._is_passed = self._has_passed()
        self._by_id = {one.id: one for one in self._everything()}
        self._old_images = _newest_images(self._history)
        self._images_left = MOST_IMAGES
        self._worn: str | None = None
        """The sprite of the bot's last message."""

    def items(self) -> Iterator[ContextItem]:
        if self._around.go_on:
            yield from self._past_items(_without_last_notices(self._history))
            yield said("user", GO_ON, "current")
            return
        if self._around.occasion is not None:
            yield from self._past_items(self._history)
            yield said("user", self._prompt(self._around.occasion), "current")
            return
        everything = [*self._history, *(incoming.said for incoming in self._around.asked)]
        everything.sort(key=lambda one: one.id)
        for is_current, group in groupby(everything, self._is_current):
            if is_current:
                yield self._current(list(group))
            else:
                yield from self._past_items(list(group))
        if self._is_passed:
            yield said("user", self._reminder(), "current")

    def _prompt(self, occasion: Occasion) -> str:
        """Return our instruction, and what somebody had asked for as a message of theirs."""
        note = f"({occasion.instruction})"
        if not occasion.request:
            return note
        return f"{note}\n{line(self._names.of(occasion.person), occasion.request)}"

    def _is_current(self, one: ChannelMessage) -> bool:
        """Return whether a message is the question, or another persona's answer right after it."""
        is_after = one.id > self._newest_id
        return one.id in self._asked or (is_after and not self._is_passed)

    def _reminder(self) -> str:
        """Return the note that names the question, because it is not the last message."""
        asked = [incoming.said for incoming in self._around.asked]
        spoken = [self._reader.read(one) if one.by_us else None for one in asked]
        name = self._name(asked[-1], spoken[-1])
        words = shortened(" ".join(map(self._words, asked, spoken)), MOST_ASKED)
        quote = f'what {name} wrote: "{words}"' if words else f"what {name} sent"
        later = {self._names.of(one.author) for one in self._history if self._waits(one)}
        rest = f" You answer {' and '.join(sorted(later))} after this." if later else ""
        return f"(Now answer {quote}. What stands after it was said since.{rest})"

    def _waits(self, one: ChannelMessage) -> bool:
        return one.id in self._around.waiting_ids

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

    def _has_passed(self) -> bool:
        """Return whether anything was said after the question.

        Other personas' answers to it do not count, nor does a notice about it (only an embed).
        """
        newest = self._newest_id
        answers = self._around.answered_ids
        later = (one for one in self._history if one.id > newest and one.id not in answers)
        return any(not _is_notice(one) for one in later)

    def _past_items(self, history: Iterable[ChannelMessage]) -> Iterator[ContextItem]:
        for one in history:
            spoken = self._reader.read(one) if one.by_us else None
            if spoken is None or spoken.persona != self._around.persona.name:
                self._worn = None
                yield ContextItem("user", tuple(self._parts(one, spoken)), message_id=one.id)
                continue
            if spoken.text:
                text = TextPart(_labelled(spoken, self._worn))
                yield ContextItem("assistant", (text,), message_id=one.id)
                self._worn = spoken.modifier
            if one.embeds:
                # As others see it: `[embed: …]` in its own words is what a model would imitate.
                seen = TextPart(line(self._name(one, spoken), "\n".join(embed_notes(one))))
                yield ContextItem("user", (seen,), message_id=one.id)
            if note := self._reaction_note(one):
                yield ContextItem("user", (TextPart(note),), message_id=one.id)

    def _current(self, group: Iterable[ChannelMessage]) -> ContextItem:
        self._worn = None
        return ContextItem("user", tuple(self._current_parts(group)), "current")

    def _current_parts(self, group: Iterable[ChannelMessage]) -> Iterator[Part]:
        for one in group:
            if one.id in self._asked:
                yield from self._asked_parts(self._asked[one.id])
            else:
                yield from self._parts(one, self._reader.read(one))

    def _asked_parts(self, incoming: IncomingMessage) -> Iterator[Part]:
        """Return a question with its pictures and those of the message that it replies to."""
        spoken = self._reader.read(incoming.said) if incoming.said.by_us else None
        for part in self._parts(incoming.said, spoken, incoming.replied):
            self._images_left -= isinstance(part, ImagePart)
            if self._images_left >= 0 or not isinstance(part, ImagePart):
                yield part
        for file in incoming.replied.files if incoming.replied else ():
            if is_image(file) and self._images_left > 0:
                self._images_left -= 1
                yield ImagePart(file.url, mime=file.mime)

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
            note = self._reaction_note(one)
            yield from (TextPart(note),) if note else ()
            return
        for file in one.files:
            yield from self._file(file, is_old=one.id not in self._asked)

    def _reaction_note(self, one: ChannelMessage) -> str:
        """Return how people reacted to a message of the bot; empty if nobody did."""
        by_emoji: dict[str, list[str]] = {}
        for reaction in self._around.reactions:
            if reaction.message_id == one.id:
                who = self._known.get(reaction.user_id)
                name = "somebody" if who is None else self._names.of(who)
                by_emoji.setdefault(plain_name(reaction.emoji), []).append(name)
        reactions = "; ".join(f"{emoji} by {', '.join(by)}" for emoji, by in by_emoji.items())
        return f"(Reactions to the message above: {reactions})" if reactions else ""

    def _file(self, file: AttachedFile, *, is_old: bool) -> Iterator[Part]:
        text = self._around.texts.get(file.url)
        if text is not None:
            # Indented like every message, so that no line of the file looks like a speaker's label.
            yield FilePart(plain_name(file.name), INDENT + indented(text), mime=file.mime)
        elif is_image(file) and (not is_old or file.url in self._old_images):
            yield ImagePart(file.url, mime=file.mime)

    def _name(self, one: ChannelMessage, spoken: AttributedSpeaker | None) -> str:
        if spoken is None:
            return self._names.of(one.author)
        return f"{spoken.persona} ({spoken.modifier})" if spoken.modifier else spoken.persona

    def _words(self, one: ChannelMessage, spoken: AttributedSpeaker | None) -> str:
        if spoken is None:
            return words_of(self._names.in_text(one))
        return "\n".join(filter(None, [spoken.text, *embed_notes(one)]))

    def _quote(self, one: ChannelMessage, replied: ChannelMessage | None) -> str:
        if replied is None and one.reply_to is not None:
            replied = self._by_id.get(one.reply_to)
        if replied is None:
            return ""
        spoken = self._reader.read(replied) if replied.by_us else None
        words = shortened(self._words(replied, spoken))
        quote = f"in reply to {self._name(replied, spoken)}"
        return f'{quote}: "{words}"' if words else quote


def _is_notice(one: ChannelMessage) -> bool:
    """Return whether a message is only an embed of the bot."""
    return one.by_us and not one.text and not one.files


def _without_last_notices(history: Sequence[ChannelMessage]) -> Sequence[ChannelMessage]:
    """Return the history up to the words to continue, without notices about them."""
    end = len(history)
    while end and _is_notice(history[end - 1]):
        end -= 1
    return history[:end]


def _labelled(spoken: AttributedSpeaker, worn: str | None) -> str:
    """Add a label where the sprite changes, without a modifier where it ends (spec 06 S2)."""
    if spoken.modifier == worn:
        return spoken.text
    if spoken.modifier is None:
        return f"{spoken.persona}: {spoken.text}"
    return f"{spoken.persona} ({spoken.modifier}): {spoken.text}"


def _newest_images(history: tuple[ChannelMessage, ...]) -> set[str]:
    found = [file.url for one in history if not one.by_us for file in one.files if is_image(file)]
    return set(found[-MOST_OLD_IMAGES:])
