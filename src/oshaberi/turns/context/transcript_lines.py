"""How what was said is written down for a model: `Name: text`, one speaker per line.

Pure. Nobody can pass for somebody else: names are made single lines without colons, and further
lines of a message are indented.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from oshaberi.conversation.conversation_messages import AttachedFile, ChannelMessage, Person
from oshaberi.storage.stored_records import PersonaRecord

INDENT = "  "
MOST_NAME = 64
MOST_QUOTED = 80
MOST_EMBED = 600
NOBODY = "somebody"

_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029:：\[\]]+")
_IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))


def plain_name(name: str) -> str:
    """A name as it can stand before a colon."""
    return " ".join(_UNSAFE.sub(" ", name).split())[:MOST_NAME].strip() or NOBODY


def indented(text: str) -> str:
    """Every line but the first moved in, whatever kind of line break it is."""
    return f"\n{INDENT}".join(text.splitlines())


def shortened(text: str, most: int = MOST_QUOTED) -> str:
    """How a text begins, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def line(name: str, text: str, about: str = "") -> str:
    """One message. `about` stands in brackets behind the name."""
    return f"{name}{f' ({about})' if about else ''}: {indented(text)}"


def is_image(file: AttachedFile) -> bool:
    return file.mime in _IMAGES


def file_note(file: AttachedFile) -> str:
    what = "image" if is_image(file) else "file"
    size = f", {max(1, file.size // 1024)} kB" if file.size and what == "file" else ""
    alt = f", {shortened(file.alt)}" if file.alt else ""
    return f"[{what}: {plain_name(file.name)}{size}{alt}]"


def words_of(said: ChannelMessage) -> str:
    """A message's text with what was embedded and attached."""
    embeds = (f"[embed: {shortened(text, MOST_EMBED)}]" for text in said.embeds)
    return "\n".join(filter(None, [said.text.strip(), *embeds, *map(file_note, said.files)]))


class TranscriptNames:
    """What each person is called, so that no two are called alike and none like a persona."""

    def __init__(self, people: Iterable[Person], personas: Sequence[PersonaRecord]) -> None:
        known = {person.id: person for person in people}
        plain = {number: plain_name(person.name) for number, person in known.items()}
        count = Counter(name.casefold() for name in plain.values())
        ours = {plain_name(n).casefold() for p in personas for n in (p.name, *p.aliases)}
        self._labels = {
            number: name
            if count[name.casefold()] == 1 and name.casefold() not in ours
            else f"{name} (user {_handle(known[number])})"
            for number, name in plain.items()
        }

    def of(self, person: Person) -> str:
        return self._labels.get(person.id) or plain_name(person.name)


def _handle(person: Person) -> str:
    return plain_name(person.handles[-1]) if person.handles else str(person.id)
