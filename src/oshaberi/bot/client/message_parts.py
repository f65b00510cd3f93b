"""What a message holds besides the words that its author typed: stickers, polls, components.

All of it becomes lines of the message's text, each with a bound. The names in it are those that
others chose, so they are written in one line, without what cannot be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import discord

from oshaberi.bot.conversation.messages import AttachedFile
from oshaberi.bot.conversation.transcript import MOST_EMBED, shortened

if TYPE_CHECKING:
    Component = discord.Component | Any

WithNames = Callable[[str], str]
"""Writes Discord's tokens (`<@123>`) as the reader sees them."""

MOST_PARTS = 60
"""How many components are read. Discord allows 40 in a message."""
MOST_WORDS = 4000
"""How many characters of a message's components are read: what Discord allows."""
MOST_LABEL = 100
MOST_OPTIONS = 10
MOST_QUESTION = 300
MOST_FORWARDED_EMBEDS = 3

_PICTURES = {
    discord.StickerFormatType.png: "image/png",
    discord.StickerFormatType.apng: "image/png",
    discord.StickerFormatType.gif: "image/gif",
}
"""The stickers that are pictures. A Lottie sticker is an animation in JSON."""


def has_parts(message: discord.Message) -> bool:
    """Return whether a message has readable parts besides its content."""
    return bool(
        message.message_snapshots or message.stickers or message.poll or _components_of(message)
    )


def _components_of(message: discord.Message) -> Sequence[Component]:
    """Return the components. discord.py has no attribute for them if Discord sent none."""
    return getattr(message, "components", ())


def part_lines(message: discord.Message, with_names: WithNames, *, is_ours: bool) -> Iterator[str]:
    """Yield the lines for everything but the content. Our own buttons are no part of our words."""
    for one in message.message_snapshots:
        yield f"(forwarded) {_forwarded(one, with_names)}".rstrip()
    yield from _sticker_lines(message.stickers)
    if message.poll is not None:
        yield poll_line(message.poll)
    if not is_ours:
        yield from component_lines(_components_of(message), with_names)


def _forwarded(one: discord.MessageSnapshot, with_names: WithNames) -> str:
    embeds = (embed_text(embed) for embed in one.embeds[:MOST_FORWARDED_EMBEDS])
    lines = [
        with_names(one.content),
        *(f"[embed: {shortened(text, MOST_EMBED)}]" for text in embeds if text),
        *_sticker_lines(one.stickers),
        *component_lines(one.components, with_names),
    ]
    return "\n".join(filter(None, lines))


def embed_text(embed: discord.Embed) -> str:
    fields = (f"{field.name}: {field.value}" for field in embed.fields)
    return "\n".join(part for part in (embed.title, embed.description, *fields) if part)


# Stickers: by name, and those that are pictures also as pictures.


def _sticker_lines(stickers: Iterable[discord.StickerItem]) -> Iterator[str]:
    return (f"(sticker: {_label(sticker.name)})" for sticker in stickers)


def sticker_pictures(message: discord.Message) -> Iterator[AttachedFile]:
    stickers = [*message.stickers]
    for snapshot in message.message_snapshots:
        stickers += snapshot.stickers
    for sticker in stickers:
        mime = _PICTURES.get(sticker.format)
        if mime is not None:
            yield AttachedFile(_label(sticker.name), sticker.url, mime, is_sticker=True)


# Polls


def poll_line(poll: discord.Poll) -> str:
    """Return a poll in one line; with votes as soon as there are some, or if it has ended."""
    question = shortened(str(poll.question), MOST_QUESTION)
    is_counted = poll.total_votes > 0 or poll.is_finalised()
    answers = " / ".join(
        f"{_label(answer.text)}: {answer.vote_count}" if is_counted else _label(answer.text)
        for answer in poll.answers
    )
    if not is_counted:
        return f"(poll: {question} {answers})"
    state = "it has ended" if poll.is_finalised() else "votes so far"
    return f"(poll: {question} {answers}; {state})"


# Components of other bots


def component_lines(components: Sequence[Component], with_names: WithNames) -> list[str]:
    """Return texts, labels of buttons and names of menus and pictures, in the order shown."""
    lines: list[str] = []
    left = MOST_WORDS
    for text in islice(_component_texts(components, with_names), MOST_PARTS):
        if left <= 0:
            break
        lines.append(text[:left])
        left -= len(text)
    return lines


def _component_texts(components: Iterable[Component], with_names: WithNames) -> Iterator[str]:
    for one in components:
        if isinstance(one, discord.TextDisplay):
            yield with_names(one.content)
        elif isinstance(one, discord.ActionRow):
            yield " ".join(filter(None, map(_control, one.children)))
        elif isinstance(one, discord.SectionComponent):
            yield from _component_texts([*one.children, one.accessory], with_names)
        elif isinstance(one, discord.Container):
            yield from _component_texts(one.children, with_names)
        elif isinstance(one, discord.MediaGalleryComponent):
            yield " ".join(_picture(item.description) for item in one.items)
        elif isinstance(one, discord.ThumbnailComponent):
            yield _picture(one.description)
        elif isinstance(one, discord.FileComponent):
            yield f"[file: {_label(one.name or '')}]"
        else:
            yield _control(one)


def _control(one: Component) -> str:
    """Return a button or a menu as text; empty if it has no label."""
    if isinstance(one, discord.components.Button):
        label = one.label or ("" if one.emoji is None else one.emoji.name)
        return f"[button: {_label(label)}]" if label else ""
    if isinstance(one, discord.components.SelectMenu):
        options = " / ".join(_label(option.label) for option in one.options[:MOST_OPTIONS])
        words = ": ".join(filter(None, [_label(one.placeholder or ""), options]))
        return f"[menu: {words}]" if words else ""
    return ""


def _picture(description: str | None) -> str:
    return f"[image: {_label(description)}]" if description else "[image]"


def _label(text: str) -> str:
    return shortened(text, MOST_LABEL)
