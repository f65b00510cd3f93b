"""Everything the bot says by itself can be translated, and the catalogues are complete."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.pofile import read_po

from oshaberi.bot.commands.answers import COMMAND_DESCRIPTION_LIMIT
from oshaberi.languages.translations import PACKAGED
from tests.languages.sentence_collection import (
    FUNCTIONS,
    SOURCE,
    MessageId,
    sentences,
    spoken_by_commands,
)

CATALOGUES = sorted(PACKAGED.glob("*.po"))
SPEAKING = sorted(
    [
        *SOURCE.glob("bot/commands/**/*.py"),
        SOURCE / "discord_io/buttons.py",
        SOURCE / "bot/recovery/crash_recovery.py",
        SOURCE / "bot/recovery/question_recovery.py",
        SOURCE / "delivery/notices.py",
        SOURCE / "bot/turns/admission/rules.py",
        SOURCE / "bot/turns/notices.py",
        SOURCE / "bot/turns/quotas.py",
        SOURCE / "bot/turns/control_reply.py",
        SOURCE / "bot/turns/turn_control.py",
        SOURCE / "bot/conversation/answer_buttons.py",
    ]
)
"""The modules whose texts people read."""
ERRING = sorted(
    [
        SOURCE / "bot/commands/config_answers.py",
        *SOURCE.glob("bot/config/server_*.py"),
        SOURCE / "bot/config/all_settings.py",
        SOURCE / "bot/config/schema.py",
        SOURCE / "bot/conversation/turn_config.py",
        SOURCE / "delivery/config.py",
        *SOURCE.glob("providers/**/*.py"),
        *SOURCE.glob("stream/**/*.py"),
        SOURCE / "bot/conversation/transcript.py",
        *SOURCE.glob("bot/turns/generation/*.py"),
        SOURCE / "bot/turns/services/model_access.py",
    ]
)
"""The modules whose errors people read: of settings that they change, of models that they ask."""
ERRORS = re.compile(r"(Config|Provider)Error|our_failure|not_allowed|ErrorHint")
NO_SENTENCES = frozenset(
    {
        *("thought log", "thoughts shown", "the reaction ", "a reaction"),  # tasks, in the log
        " is used up until  UTC",  # the text of an error that is logged
        "yes, delete it",  # a value; discord.py hands its name to the translator
    }
)
OPERATORS = frozenset({": is not a number that admins may change"})
"""What only whoever runs the bot reads."""
_WORD = re.compile(r"[A-Za-z]{2,}")
_ONE_WORD = re.compile(r"[A-Z][a-z]+[.!?…]")


@pytest.mark.parametrize("file", CATALOGUES, ids=lambda file: file.stem)
def test_a_catalogue_has_every_sentence_with_its_placeholders(file: Path) -> None:
    with file.open("rb") as source:
        catalogue = {_id(message.id): message.string for message in read_po(source) if message.id}
    assert set(catalogue) == sentences(), "run: make generate"
    for one, said in catalogue.items():
        forms = [str(form or "") for form in (said if isinstance(said, tuple) else (said,))]
        assert all(forms), f"{one!r} is not translated"
        for form in forms:
            assert _placeholders(form) == _placeholders(one if isinstance(one, str) else one[1])


@pytest.mark.parametrize("file", CATALOGUES, ids=lambda file: file.stem)
def test_descriptions_are_short_enough_for_discord(file: Path) -> None:
    with file.open("rb") as source:
        catalogue = read_po(source)
    for english in spoken_by_commands():
        found = catalogue.get(english)
        assert found is not None
        assert 1 <= len(str(found.string)) <= COMMAND_DESCRIPTION_LIMIT, english


@pytest.mark.parametrize("path", SPEAKING, ids=lambda path: path.stem)
def test_no_sentence_is_said_in_english_only(path: Path) -> None:
    left = sorted(set(_untranslatable(path)) - NO_SENTENCES)
    assert left == [], "wrap it in translated() or translatable()"


@pytest.mark.parametrize("path", ERRING, ids=lambda path: path.stem)
def test_no_error_is_told_in_english_only(path: Path) -> None:
    left = sorted(set(_untranslatable_errors(path)) - OPERATORS)
    assert left == [], "wrap it in Sentence()"


def test_an_error_in_english_only_is_found(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(
        'raise ConfigError(f"{key}: is quite wrong")\n'
        'ProviderError("network", "the stream has ended", retryable=True)\n'
        'words = "it cannot be so"\nraise ConfigError(words)\n'
        'raise ConfigError(Sentence("this is fine"))\n'
    )
    assert sorted(_untranslatable_errors(bad)) == [
        ": is quite wrong",
        "it cannot be so",
        "the stream has ended",
    ]


def _id(message_id: str | list[str] | tuple[str, ...]) -> MessageId:
    if isinstance(message_id, str):
        return message_id
    one, many = message_id
    return one, many


def _placeholders(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


def _untranslatable(path: Path) -> Iterator[str]:
    """Texts that are not translated: of several words, with values, or one word as a sentence."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    apart = {id(part) for node in ast.walk(tree) for part in _apart(node)}
    for node in ast.walk(tree):
        if id(node) in apart:
            continue
        if isinstance(node, ast.JoinedStr):
            constants = [part for part in node.values if isinstance(part, ast.Constant)]
            apart |= {id(part) for part in constants}
            text = "".join(str(part.value) for part in constants)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        words = _WORD.findall(re.sub(r"<[@#t:][^>]*>|`[^`]*`", "", text))
        fewest = 1 if isinstance(node, ast.JoinedStr) else 2
        if (len(words) >= fewest and " " in text) or _ONE_WORD.fullmatch(text):
            yield text


def _untranslatable_errors(path: Path) -> Iterator[str]:
    """Texts that are given to an error, or kept in a name that is."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ERRORS.fullmatch(ast.unparse(node.func))
    ]
    given = [argument for call in calls for argument in (*call.args, *_values(call))]
    names = {one.id for one in given if isinstance(one, ast.Name)}
    given += [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and any(isinstance(one, ast.Name) and one.id in names for one in node.targets)
    ]
    for one in given:
        translated = {id(part) for call in ast.walk(one) for part in _apart(call)}
        parts = [part for part in ast.walk(one) if id(part) not in translated]
        text = "".join(
            part.value
            for part in parts
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        )
        if len(_WORD.findall(text)) > 1 and " " in text:
            yield text


def _values(call: ast.Call) -> list[ast.expr]:
    return [one.value for one in call.keywords]


def _apart(node: ast.AST) -> Iterator[ast.AST]:
    """What is no sentence: docstrings, log lines, types, decorators, what is translated."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node.value
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from (part for one in node.decorator_list for part in ast.walk(one))
        returns = [] if node.returns is None else [node.returns]
        yield from (part for one in returns for part in ast.walk(one))
    elif isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None:
        yield from ast.walk(node.annotation)
    elif isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        if name in FUNCTIONS or name.startswith("log.") or name == "app_commands.Group":
            yield from ast.walk(node)
