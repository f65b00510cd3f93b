"""Which names look alike, and which names a persona or sprite may have. Pure.

What looks alike is decided by Unicode's own data, and a table of letters of other alphabets that
look like Latin or kana. Names with the same skeleton count as alike, rather too often than too
rarely.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

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
    # Cherokee has its capitals where others have small letters.
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


# Allowed names: those that Discord accepts and a label can carry.
_REFUSED_SIGNS: Final = {
    "@": Sentence("it contains an @"),
    ":": Sentence("it contains a colon"),
    "```": Sentence("it contains three backticks"),
}


def name_problem(name: str, limit: int = MAX_UNITS) -> Sentence | None:
    """Return why a name cannot be used (Discord refuses it, or a label cannot have it), or None."""
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
