"""Sentences in other languages: whole, counted, missing, of the operator, and broken files."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from oshaberi.languages import current_language, in_language, speak_language, translated
from oshaberi.languages.current_language import language_now, translated_count
from oshaberi.languages.translations import TranslationCatalogues

HEAD = (
    'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n'
    '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n\n'
)


def catalogue(folder: Path, language: str, **sentences: str) -> None:
    folder.mkdir(exist_ok=True)
    body = "".join(f'msgid "{key}"\nmsgstr "{said}"\n\n' for key, said in sentences.items())
    (folder / f"{language}.po").write_text(HEAD + body, encoding="utf-8")


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the package, in use; `operator` beside it is the operator's."""
    folder = tmp_path / "ours"
    catalogue(folder, "de", **{"Hello": "Hallo", "Bye {name}": "Tschüss {name}"})
    monkeypatch.setattr(current_language, "CATALOGUES", both(folder))
    return folder


def both(folder: Path) -> TranslationCatalogues:
    return TranslationCatalogues([folder, folder.with_name("operator")])


@pytest.mark.usefixtures("ours")
def test_english_needs_no_catalogue() -> None:
    assert language_now() == "en"
    assert translated("Hello") == "Hello"
    assert translated("{count} of {most}", count=1, most=2) == "1 of 2"
    assert translated_count("{count} fact", "{count} facts", 1) == "1 fact"
    assert translated_count("{count} fact", "{count} facts", 2) == "2 facts"


@pytest.mark.usefixtures("ours")
def test_a_language_is_spoken_inside_a_block() -> None:
    with in_language("de"):
        assert translated("Hello") == "Hallo"
        assert translated("Bye {name}", name="Mika") == "Tschüss Mika"
        assert translated("Not there") == "Not there"
    assert translated("Hello") == "Hello"


@pytest.mark.usefixtures("ours")
def test_braces_of_values_are_no_placeholders() -> None:
    with in_language("de"):
        assert translated("Bye {name}", name="{name}{0}") == "Tschüss {name}{0}"


@pytest.mark.usefixtures("ours")
def test_a_task_speaks_the_language_of_its_starter() -> None:
    async def say() -> str:
        return translated("Hello")

    async def main() -> tuple[str, str]:
        with in_language("de"):
            begun = asyncio.create_task(say())
        return await begun, await say()

    assert asyncio.run(main()) == ("Hallo", "Hello")


@pytest.mark.usefixtures("ours")
def test_a_task_may_choose_its_language() -> None:
    async def say(code: str) -> str:
        speak_language(code)
        await asyncio.sleep(0)
        return translated("Hello")

    async def main() -> list[str]:
        return list(await asyncio.gather(say("de"), say("en")))

    assert asyncio.run(main()) == ["Hallo", "Hello"]


def test_a_country_has_what_its_language_has(ours: Path) -> None:
    catalogue(ours, "de-AT", Hello="Servus")
    with in_language("de-AT"):
        assert translated("Hello") == "Servus"
        assert translated("Bye {name}", name="Mika") == "Tschüss Mika"
    with in_language("de-CH"):
        assert translated("Hello") == "Hallo"


def test_the_operator_s_sentences_win(ours: Path) -> None:
    catalogue(ours.parent / "operator", "de", Hello="Moin")
    catalogue(ours.parent / "operator", "fr", Hello="Bonjour")
    with in_language("de"):
        assert translated("Hello") == "Moin"
        assert translated("Bye {name}", name="Mika") == "Tschüss Mika"
    with in_language("fr"):
        assert translated("Hello") == "Bonjour"
    assert both(ours).languages() == ["en", "de", "fr"]
    assert both(ours).has("fr-CA")
    assert not both(ours).has("it")


def test_numbers_have_their_forms(ours: Path) -> None:
    counted = 'msgid "{count} fact"\nmsgid_plural "{count} facts"\nmsgstr[0] "{count} 件"\n'
    head = HEAD.replace("nplurals=2; plural=(n != 1)", "nplurals=1; plural=0")
    (ours / "ja.po").write_text(head + counted, encoding="utf-8")
    with in_language("ja"):
        assert translated_count("{count} fact", "{count} facts", 1) == "1 件"
        assert translated_count("{count} fact", "{count} facts", 5) == "5 件"


def head_with(before: str, after: str) -> bytes:
    assert before in HEAD
    counted = 'msgid "{count} fact"\nmsgid_plural "{count} facts"\nmsgstr[0] "x"\nmsgstr[1] "y"\n'
    return (HEAD.replace(before, after) + counted).encode()


@pytest.mark.parametrize(
    "broken",
    [
        b"\xff\xfe",
        b"nonsense",
        head_with("charset=utf-8", "charset=odd"),
        head_with("charset=utf-8", "charset=hex"),
        head_with("nplurals=2", "nplurals=many"),
        head_with("nplurals=2", "nplurals=7"),
        head_with("nplurals=2", "nplurals=99999999999"),
        head_with("(n != 1)", "__import__('os')"),
    ],
)
def test_a_broken_file_is_told_and_english_is_said(
    ours: Path, broken: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (ours / "it.po").write_bytes(broken)
    with in_language("it"), caplog.at_level(logging.WARNING):
        assert translated("Hello") == "Hello"
        assert translated_count("{count} fact", "{count} facts", 2) == "2 facts"
    (line,) = caplog.messages
    assert "it.po cannot be read" in line


def test_a_translation_with_wrong_placeholders_is_told_and_not_used(
    ours: Path, caplog: pytest.LogCaptureFixture
) -> None:
    catalogue(ours, "it", **{"Hello {name}": "Ciao {nome}", "Bye {name}": "Ciao {"})
    with in_language("it"), caplog.at_level(logging.WARNING):
        assert translated("Hello {name}", name="Mika") == "Hello Mika"
        assert translated("Bye {name}", name="Mika") == "Bye Mika"
    assert len(caplog.messages) == 2
    caplog.clear()
    with in_language("it"), caplog.at_level(logging.WARNING):
        assert translated("Hello {name}", name="Ren") == "Hello Ren"
    assert caplog.messages == [], "it is told once"
    with pytest.raises(KeyError):
        translated("Hello {name}", nome="Mika")


@pytest.mark.parametrize(
    "said", ["Ciao {name.__class__}", "Ciao {name!r}", "Ciao {name:>9999}", "Ciao", "Ciao {{name}}"]
)
def test_a_placeholder_shows_its_value_and_nothing_else(ours: Path, said: str) -> None:
    catalogue(ours, "it", **{"Hello {name}": said})
    with in_language("it"):
        assert translated("Hello {name}", name="{0.__class__}") == "Hello {0.__class__}"


@pytest.mark.parametrize(
    ("many", "said"), [("{count} fatti", "un fatto"), ("{count.real} fatti", "one fact")]
)
def test_a_form_may_leave_its_number_out(ours: Path, many: str, said: str) -> None:
    counted = 'msgid "one fact"\nmsgid_plural "{count} facts"\nmsgstr[0] "un fatto"\n'
    (ours / "it.po").write_text(f'{HEAD}{counted}msgstr[1] "{many}"\n', encoding="utf-8")
    with in_language("it"):
        assert translated_count("one fact", "{count} facts", 1) == said


def test_a_formula_that_divides_by_zero_says_english(ours: Path) -> None:
    (ours / "it.po").write_bytes(head_with("(n != 1)", "1/(n-2)"))
    with in_language("it"):
        assert translated_count("{count} fact", "{count} facts", 2) == "2 facts"
        assert translated_count("{count} fact", "{count} facts", 3) == "y"
