"""Reads translations: gettext's `.po` files, of the package and of the operator.

A language is looked up as Discord writes it (`pt-BR`), then without its country (`pt`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path

log = logging.getLogger(__name__)

ENGLISH = "en"
PACKAGED = Path(__file__).with_name("catalogues")


class TranslationCatalogues:
    """The catalogues of some folders, each read when its language is first spoken.

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
        return self._catalogue(language).ngettext(one, many, count)

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
    """Read a `.po` file. One that cannot be read is logged, and has no sentences."""
    # Babel is large and only needed where somebody speaks another language.
    try:
        from babel.messages.mofile import write_mo
        from babel.messages.pofile import PoFileError, read_po
    except ModuleNotFoundError:
        log.warning('%s needs Babel: pip install "oshaberi[bot]"', file.name)
        return NullTranslations()
    compiled = BytesIO()
    try:
        with file.open("rb") as source:
            write_mo(compiled, read_po(source, locale=_locale(file.stem), abort_invalid=True))
    except (OSError, UnicodeError, ValueError, PoFileError) as error:
        log.warning("the translations %s cannot be read: %s", file, error)
        return NullTranslations()
    compiled.seek(0)
    return GNUTranslations(compiled)


def _locale(language: str) -> str:
    """Return a code as Babel writes it."""
    return language.replace("-", "_")


def _without_country(language: str) -> str:
    return language.partition("-")[0]


CATALOGUES = TranslationCatalogues()
"""Those of this process."""
