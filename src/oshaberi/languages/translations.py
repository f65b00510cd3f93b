"""Reads translations: gettext's `.po` files, of the package and of the operator.

A language is looked up as Discord writes it (`pt-BR`), then without its country (`pt`).
`current_language` chooses the language.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from string import Formatter

log = logging.getLogger(__name__)

ENGLISH = "en"
FORMS = re.compile(r"\s*nplurals\s*=\s*(\d{1,3})\b")
MOST_FORMS = 6
"""How many plural forms a file may have. Arabic has this many."""
Forms = str | Sequence[str]
PACKAGED = Path(__file__).with_name("catalogues")


class TranslationCatalogues:
    """The catalogues of some folders, each read when its language is first used.

    A later folder wins: an operator's file may replace single sentences.
    """

    def __init__(self, folders: Iterable[Path] = (PACKAGED,)) -> None:
        self._folders = tuple(folders)
        self._read: dict[str, NullTranslations] = {}

    def use_folders(self, folders: Iterable[Path]) -> None:
        """Read from other folders from now on."""
        self._folders = tuple(folders)
        self._read.clear()

    def languages(self) -> list[str]:
        """Return the codes of all languages that have a catalogue, English first."""
        found = {file.stem for folder in self._folders for file in folder.glob("*.po")}
        return [ENGLISH, *sorted(found - {ENGLISH})]

    def has(self, language: str) -> bool:
        return any(code in self.languages() for code in (language, _without_country(language)))

    def sentence(self, language: str, english: str) -> str:
        return self._catalogue(language).gettext(english)

    def counted(self, language: str, one: str, many: str, count: int) -> str:
        try:
            return self._catalogue(language).ngettext(one, many, count)
        except ArithmeticError:  # a file may contain any plural rule, even `n/0`
            return one if count == 1 else many

    def _catalogue(self, language: str) -> NullTranslations:
        found = self._read.get(language)
        if found is None:
            found = self._read[language] = self._load(language)
        return found

    def _load(self, language: str) -> NullTranslations:
        """Load a language: the operator's file comes first, then the package's, then English."""
        chain = NullTranslations()
        for code in dict.fromkeys((_without_country(language), language)):
            for folder in self._folders:
                file = folder / f"{code}.po"
                if code != ENGLISH and file.is_file():
                    catalogue = read_catalogue(file)
                    catalogue.add_fallback(chain)
                    chain = catalogue
        return chain


def read_catalogue(file: Path) -> NullTranslations:
    """Read a `.po` file. An unreadable file is logged and counts as empty."""
    try:
        return GNUTranslations(BytesIO(_compile(file, file.stat().st_mtime_ns)))
    except ModuleNotFoundError:
        log.warning('%s needs polib: pip install "oshaberi[bot]"', file.name)
    except (OSError, LookupError, ValueError) as error:
        log.warning("the translations %s cannot be read: %s", file, error)
    return NullTranslations()


@lru_cache(maxsize=16)
def _compile(file: Path, _changed_at: int) -> bytes:
    """Return the catalogue in gettext's own form, made once for each version of the file."""
    import polib  # only needed if somebody speaks another language

    catalogue = polib.pofile(str(file))
    plurals = catalogue.metadata.get("Plural-Forms")
    if plurals is not None and not 0 < _form_count(plurals) <= MOST_FORMS:
        raise ValueError(f"a language has 1 to {MOST_FORMS} forms (nplurals)")
    for entry in catalogue:
        said = entry.msgstr or tuple(entry.msgstr_plural.values())
        english = (entry.msgid, entry.msgid_plural) if entry.msgid_plural else entry.msgid
        if said and not have_same_placeholders(english, said):
            log.warning("a translation in %s has wrong placeholders: %s", file, said)
            entry.msgstr, entry.msgstr_plural = "", {}
    return bytes(catalogue.to_binary())


def _form_count(plurals: str) -> int:
    found = FORMS.match(plurals)
    return int(found[1]) if found is not None else 0


def have_same_placeholders(english: Forms, translation: Forms) -> bool:
    """Return whether a translation has the same placeholders as the English sentence.

    Forms for different numbers may leave some out (`one fact`).
    """
    if isinstance(english, str) and isinstance(translation, str):
        return _placeholders(english) == _placeholders(translation)
    known = set().union(*map(_placeholders, english))
    return all(_placeholders(form) <= known for form in translation)


def _placeholders(sentence: str) -> set[tuple[str | None, ...]]:
    """Return the fields, with their formats. A sentence with a lone brace matches only itself."""
    try:
        return {part[1:] for part in Formatter().parse(sentence) if part[1] is not None}
    except ValueError:
        return {(sentence,)}


def _without_country(language: str) -> str:
    return language.partition("-")[0]


CATALOGUES = TranslationCatalogues()
"""The catalogues of this process."""
