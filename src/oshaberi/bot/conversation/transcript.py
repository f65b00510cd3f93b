"""Writes messages down for a model: `Name: text`, one speaker per line.

Pure. Nobody can pose as somebody else: further lines of a message are indented, and `names` gives
each person a name that no one else has.
"""

from __future__ import annotations

from oshaberi.bot.conversation.messages import AttachedFile, ChannelMessage
from oshaberi.bot.conversation.names import plain_name, plain_words

INDENT = "  "
MOST_QUOTED = 80
MOST_EMBED = 600

_IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))


def indented(text: str) -> str:
    """Indent every line but the first. All kinds of line breaks count."""
    return f"\n{INDENT}".join(text.splitlines())


def shortened(text: str, most: int = MOST_QUOTED) -> str:
    """Return the beginning of a text, in one line."""
    joined = plain_words(text[: 4 * most])
    is_whole = len(text) <= 4 * most and len(joined) <= most
    return joined if is_whole else joined[: most - 1].rstrip() + "…"


def line(name: str, text: str, about: str = "") -> str:
    """Return one message as a transcript line. `about` goes in brackets after the name."""
    return f"{name}{f' ({about})' if about else ''}: {indented(text)}"


def is_image(file: AttachedFile) -> bool:
    return file.mime in _IMAGES


def file_note(file: AttachedFile) -> str:
    what = "image" if is_image(file) else "file"
    size = f", {max(1, file.size // 1024)} kB" if file.size and what == "file" else ""
    alt = f", {shortened(file.alt)}" if file.alt else ""
    return f"[{what}: {plain_name(file.name)}{size}{alt}]"


def words_of(said: ChannelMessage) -> str:
    """Return a message's text together with its embeds and attachments."""
    notes = (*embed_notes(said), *map(file_note, said.files))
    return "\n".join(filter(None, [said.text.strip(), *notes]))


def embed_notes(said: ChannelMessage) -> list[str]:
    return [f"[embed: {shortened(text, MOST_EMBED)}]" for text in said.embeds]
