"""Writes messages down for a model: `Name: text`, one speaker per line.

Pure. Nobody can pose as somebody else: names become single lines without colons, a name that looks
like another is shown with the account name, and further lines of a message are indented.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from oshaberi.bot.conversation.messages import AttachedFile, ChannelMessage, Person
from oshaberi.bot.conversation.names import mixes_alphabets, skeleton, without_hidden
from oshaberi.bot.storage.records import PersonaRecord

INDENT = "  "
MOST_NAME = 64
MOST_QUOTED = 80
MOST_EMBED = 600
NOBODY = "somebody"

ROLES = ("System", "Assistant", "Developer")
"""Names that models take for somebody who may give orders."""

_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029"
    r":：\u02d0\u02f8\u0589\u05c3\u0703\u0704\u205a\u2236\ua789\ufe13\ufe30\ufe55\[\]［］]+"
)
_BREAKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_BRACKETS = re.compile(r"[()（）]")
_OUR_NOTE = re.compile(r"[(（]\s*(?:user|also|in reply to)\b", re.IGNORECASE)
_IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))


def plain_name(name: str) -> str:
    """Return a name without what would break a `name: text` line."""
    seen = without_hidden(_UNSAFE.sub(" ", name), keep_joiners=True)
    return " ".join(seen.split())[:MOST_NAME].strip() or NOBODY


def indented(text: str) -> str:
    """Indent every line but the first. All kinds of line breaks count."""
    return f"\n{INDENT}".join(text.splitlines())


def plain_words(text: str) -> str:
    """Return words of others (a topic, a title, a poll) in one line, as they are seen.

    Characters go that nobody sees, and those that turn the line round (U+202E).
    """
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    return " ".join(without_hidden(_BREAKS.sub(" ", text), keep_joiners=True).split())


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


def reserved_names(personas: Sequence[PersonaRecord], bot_name: str) -> tuple[str, ...]:
    """Return the names that no member may have without their account name beside it."""
    ours = (name for persona in personas for name in (persona.name, *persona.aliases))
    return tuple(filter(str.strip, (*ours, bot_name, *ROLES)))


class TranscriptNames:
    """Gives each person a unique name in the transcript, different from every persona's.

    A name that looks like another one or mixes alphabets is shown with the account name.
    """

    def __init__(self, people: Iterable[Person], reserved: Iterable[str]) -> None:
        known = {_key(person): person for person in people}
        plain = {key: plain_name(person.name) for key, person in known.items()}
        taken = Counter(map(skeleton, plain.values()))
        ours = {skeleton(plain_name(name)) for name in reserved}
        self._labels = {
            key: with_account(known[key]) if _is_mistakable(name, taken, ours) else name
            for key, name in plain.items()
        }

    def of(self, person: Person) -> str:
        return self._labels.get(_key(person)) or plain_name(person.name)

    def in_text(self, said: ChannelMessage) -> ChannelMessage:
        """Return a message's text, with mentioned people under their transcript names."""
        text = said.text
        for person in said.mentions:
            if (label := self.of(person)) != person.name:
                text = text.replace(f"@{person.name}", f"@{label}")
        return said if text == said.text else replace(said, text=text)


def with_account(person: Person) -> str:
    """Return a person's name with their account name."""
    seen = unicodedata.normalize("NFKC", without_hidden(plain_name(person.name)))
    name = plain_name(_BRACKETS.sub(" ", seen))
    return f"{name} (user {_handle(person)})"


def handle_of(person: Person) -> str:
    """Return a person's account name, or an empty text if it is unknown."""
    return person.username or (person.handles[-1] if person.handles else "")


def _handle(person: Person) -> str:
    handle = handle_of(person)
    return plain_name(handle) if handle.strip() else str(person.id)


def _key(person: Person) -> int | tuple[int, str]:
    """Identify a person. Several people may speak through one webhook, so its name counts too."""
    return person.id if person.username else (person.id, person.name)


def _is_mistakable(name: str, taken: Counter[str], ours: set[str]) -> bool:
    whole, front = skeleton(name), skeleton(re.split(r"[(（]", name)[0])
    if whole in ours or front in ours or taken[whole] > 1:
        return True
    borrows = front != whole and bool(front) and taken[front] > 0
    return borrows or mixes_alphabets(name) or _OUR_NOTE.search(name) is not None
