"""How a channel is written down for a model: `Name: text`, one speaker per line. Pure.

Nobody can pose as somebody else: names become single lines without colons, a name that looks like
another is shown with the account name, and further lines of a message are indented. Unicode's own
data decides what looks alike, and a table of letters of other alphabets that look like Latin or
kana; names with the same skeleton count as alike, preferably too often than too rarely. By the same
rules a persona or sprite gets its name (`name_problem`).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from oshaberi.bot.conversation.messages import AttachedFile, ChannelMessage, Person
from oshaberi.bot.conversation.server_reading import ServerEvent
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.errors import Sentence
from oshaberi.text.measure import has_visible, utf16_len
from oshaberi.text.normalize.webhook_names import (
    MAX_UNITS,
    REFUSED_WHOLE,
    REFUSED_WORDS,
    webhook_username,
)

_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that are invisible, although Unicode counts them as letters or signs."""
_JOINERS = frozenset("\u200c\u200d")
_LETTERS = frozenset({"Lu", "Ll", "Lt", "Lo"})
_SIGN_FOR_LETTER = re.compile(r"[A-Za-z][\u2200-\u22ff\u25a0-\u25ff\u2b00-\u2bff][A-Za-z]")
"""A mathematical sign, a shape or an arrow in the middle of a Latin word."""
_HIDDEN_KINDS = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})
_ALPHABETS = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "LISU", "COPTIC"})
"""Alphabets whose letters look alike: a word with letters of one of them must not mix in
another."""
_BESIDE_LATIN = frozenset(
    {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC"}
)
"""Scripts that may be in one word with Latin letters, as in ミカchan."""
_LATIN_NAME = re.compile(
    r"(?:LATIN|NEGATIVE|REGIONAL|SQUARED|TORTOISE).* (?:LETTER|SMALL CAPITAL|DOTLESS|SCRIPT)"
    r" ([A-Z])(?: .*)?"
)

_LOOK_LIKE = str.maketrans(
    # Cyrillic
    "АВЕЅІЈКМНОРСТУХҮԌԚԜаеѕіјкмнорстухүԁԛԝһӏвпг"
    # Greek
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαβγεηικνορτυχω"
    # Armenian
    "ՕՍՏԼօոսզհցյ"
    # Cherokee
    "ᎪᏴᏟᎠᎬᎻᏦᏞᎷᏢᏒᏚᎢᎥᏙᏔᏃᎫ"
    # Lisu
    "ꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ"
    # Coptic
    "ⲀⲂⲈⲎⲒⲔⲘⲚⲞⲢⲤⲦⲨⲬⲁⲃⲉⲏⲓⲕⲙⲛⲟⲣⲥⲧⲩⲭ"
    # Latin letters with other names
    "ɑɩǀ"
    # Signs that look like an o
    "○◯●◎⭕〇"
    # Han and hiragana that look like katakana
    "口二力工卜夕八三一千へり",
    "ABESIJKMHOPCTYXYGQWaesijkmhopctyxydqwhlbnr"
    "ABEZHIKMNOPTYXabyenikvoptuxw"
    "OUSLonuqhgj"
    "ABCDEHKLMPRSTiVWZJ"
    "BPDTGKJCZFMNLSRVHWXYAEIOU"
    "ABEHIKMNOPCTYXabehikmnopctyx"
    "ail"
    "oooooo"
    "ロニカエトタハミーチヘリ",
)
_ALIKE = str.maketrans("il1|!0", "lllllo")


def without_hidden(name: str, *, keep_joiners: bool = False) -> str:
    """Return the name without invisible characters.

    Joiners stay where an emoji or a script needs them.
    """
    return "".join(
        char for char in name if not _is_hidden(char) or (keep_joiners and char in _JOINERS)
    )


@lru_cache(maxsize=4096)
def skeleton(name: str) -> str:
    """Return a name's comparison form: look-alike names have the same one."""
    plain = unicodedata.normalize("NFKC", without_hidden(name))
    letters = "".join(map(_latin, plain.translate(_LOOK_LIKE)))
    # Cherokee has capitals where other scripts have small letters.
    folded = letters.casefold().translate(_LOOK_LIKE).casefold()
    bare = unicodedata.normalize("NFKD", folded).translate(_ALIKE)
    return "".join(char for char in bare if unicodedata.category(char)[0] in "LN") or bare.strip()


@lru_cache(maxsize=4096)
def mixes_alphabets(name: str) -> bool:
    """Return whether a word of the name mixes alphabets, or uses a symbol as a letter."""
    if name.isascii():
        return False
    plain = unicodedata.normalize("NFKC", without_hidden(name))
    if _SIGN_FOR_LETTER.search(plain):
        return True
    return any(_is_mixed(_scripts(word)) for word in re.split(r"[\W\d_]+", plain))


def _is_mixed(scripts: set[str]) -> bool:
    return bool(scripts & _ALPHABETS) and len(scripts - _BESIDE_LATIN) > 1


def _scripts(word: str) -> set[str]:
    """Return the scripts of a word, by its letters' Unicode names.

    Modifier letters fit every script.
    """
    letters = (char for char in word if unicodedata.category(char) in _LETTERS)
    return {unicodedata.name(char, "").partition(" ")[0] for char in letters}


def _is_hidden(char: str) -> bool:
    if char.isascii():
        return not char.isprintable()
    return char in _FILLERS or unicodedata.category(char) in _HIDDEN_KINDS


def _latin(char: str) -> str:
    """Return the plain letter of a small capital, a circled letter or one with a stroke.

    A digit of another script becomes the ASCII digit.
    """
    if char.isascii():
        return char
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    found = _LATIN_NAME.fullmatch(unicodedata.name(char, ""))
    return found[1] if found else char


# Names in a transcript: single lines without colons. A name that looks like another one is shown
# with the account name, so that nobody can pose as somebody else.
MOST_NAME = 64
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


def plain_name(name: str) -> str:
    """Return a name without anything that would break a `name: text` line."""
    seen = without_hidden(_UNSAFE.sub(" ", name), keep_joiners=True)
    return " ".join(seen.split())[:MOST_NAME].strip() or NOBODY


def plain_words(text: str) -> str:
    """Return other people's words (a topic, a title, a poll) in one line, as they appear.

    Invisible characters are removed, and so are those that reverse the line (U+202E).
    """
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    return " ".join(without_hidden(_BREAKS.sub(" ", text), keep_joiners=True).split())


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


# One message, as lines of the transcript.
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
    files = (one for one in said.files if not one.is_sticker)
    notes = (*embed_notes(said), *map(file_note, files))
    return "\n".join(filter(None, [said.text.strip(), *notes]))


def embed_notes(said: ChannelMessage) -> list[str]:
    return [f"[embed: {shortened(text, MOST_EMBED)}]" for text in said.embeds]


MOST_EVENT = 500


def event_words(event: ServerEvent) -> str:
    """Describe a scheduled event in one line."""
    ends = f" until {event.ends:%Y-%m-%d %H:%M}" if event.ends else ""
    place = f", in {shortened(event.place)}" if event.place else ""
    about = f": {shortened(event.description, MOST_EVENT)}" if event.description else ""
    when = f"{event.begins:%Y-%m-%d %H:%M}{ends} UTC"
    return f'the event "{shortened(event.name)}" ({event.state}), {when}{place}{about}'


# Allowed names: those that Discord accepts and a label can carry.
_REFUSED_SIGNS: Final = {
    "@": Sentence("it contains an @"),
    ":": Sentence("it contains a colon"),
    "```": Sentence("it contains three backticks"),
}


def name_problem(name: str, limit: int = MAX_UNITS) -> Sentence | None:
    """Return why a name cannot be used (Discord refuses it, or a label cannot hold it), or None."""
    if not has_visible(name):
        return Sentence("it is empty")
    if utf16_len(name) > limit:
        return Sentence("it is longer than {limit} characters", limit=limit)
    if name.casefold().lstrip("@") in REFUSED_WHOLE:
        return Sentence("Discord does not allow {name!r} as a name", name=name)
    for sign, said in _REFUSED_SIGNS.items():
        if sign in name:
            return said
    if webhook_username(name) != name:
        return _refused_word(name)
    return None


def _refused_word(name: str) -> Sentence:
    """Return why Discord refuses the name."""
    bare = "".join(sign for sign in name.casefold() if sign.isprintable())
    for word in REFUSED_WORDS:
        if word in bare:
            return Sentence("Discord does not allow the word {word!r} in names", word=word)
    return Sentence("it contains characters that cannot be seen")


# What the bot posts beside its answers: the model's thoughts, what it is doing, what it asks before
# it goes on. It recognises these messages by their first characters, and leaves them out of the
# conversation.
MARK, WORK = "💭", "⚙️"
SUBTEXT = "-# "
SPOILER = "||"
_BESIDE = (f"{SUBTEXT}{MARK}", f"{SPOILER}{MARK}", f"{SUBTEXT}{WORK}")


def is_working_line(text: str) -> bool:
    """Return whether a message of the bot only says what it does."""
    return text.lstrip().startswith(f"{SUBTEXT}{WORK}")


def is_beside_the_answer(text: str) -> bool:
    """Return whether a message of the bot is not part of an answer."""
    return text.lstrip().startswith(_BESIDE)
