"""A number and its noun agree: `1 exchange`, never `1 exchanges`.

What people read goes through the catalogue (`translated_count`), what is not translated through
`counted`. Here every sentence with a number before a plural is looked at.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from oshaberi.terminal_output import counted
from tests.languages.sentence_collection import SOURCE, sentences

NOUNS = """
    answers attempts bytes calls categories channels characters chunks columns days edits entries
    errors events exchanges facts failures files hours ids items journals keys lines links mentions
    messages minutes models pages people personas pictures pieces processes questions records
    requests roles rounds rows scenes seconds segments servers sessions settings shards sprites
    streams summaries tables texts thoughts threads tokens tools turns users words
""".split()  # noqa: SIM905 (a list of sixty strings is hard to read)
_PLURAL = rf" (?:[a-z]+ )?(?:{'|'.join(NOUNS)})\b"
_IN_SENTENCE = re.compile(rf"\{{\w+(?::[^}}]*)?\}}{_PLURAL}")
_AFTER_VALUE = re.compile(rf"(?:\{{\}}|%d){_PLURAL}")

NEVER_ONE = {
    "**In the last {lately_days} days:** {lately}.": "thirty days",
    "At most {most_keys} keys; remove one first: `/model key remove`.": "a constant",
    "At most {most_models} models; remove one: `/model fallback remove`.": "a constant",
    "At most {most_personas} personas; delete one: `/persona delete`.": "a constant",
    "At most {most_sprites} sprites; remove one: `/sprite remove`.": "a constant",
    "At most {most} channels can have their own settings or models; reset one first.": "a constant",
    "The answer was cut off: its text has more than {most:,} bytes.": "thousands at least",
    "The answer was cut off: its thoughts have more than {most:,} bytes.": "thousands at least",
    "The answer was cut off: its tool calls have more than {most:,} bytes.": "thousands at least",
    "The answer was cut off: the server sent more than {most:,} bytes.": "thousands at least",
    "The address is longer than {avatar_url_limit} characters; shorten it.": "a constant",
    "a list of at most {most} ids": "the least maximum of a list is 20",
    "a list of at most {most} texts of at most {longest} characters": "the least maximum is 20",
    "a text of at most {most} characters": "the least maximum of a text is 80",
    "it is longer than {limit} characters": "a constant",
    "the model's `window` ({window}) is too small: the rules, the persona and the question alone "
    "have about {base} tokens": "hundreds at least",
    "the archive has more than {most} files": "a constant",
    "A lorebook's name has 1 to {most} characters.": "a constant",
    "**{name}** would read about {total} tokens": "hundreds at least",
    "Each answer reads about {tokens} tokens of it.": "a text already, with commas",
    "A time has at most {most} characters.": "a constant",
    "That is too often: there must be at least {minutes} minutes between two times "
    "(schedule_shortest_minutes).": "the setting is at least 5",
    "The text is too long: at most {most} characters.": "a constant",
    "the lorebook has more than {most} entries": "a constant",
    "the lorebook has more than {most} keys": "a constant",
    "{field} has more than {most} characters": "a constant",
    "{field} has more than {most} texts": "a constant",
    "{rounds} rounds of tools so far. Use /stop to end it.": "a constant",
    "{start} is too long: at most {most} characters.": "a constant",
    "{what}: at most {most} characters.": "a constant",
    "{what}: each is at most {max_units} characters long.": "a constant",
}
"""Sentences that need no singular, and why."""


def test_every_sentence_with_a_number_has_a_singular() -> None:
    found = {one for one in sentences() if isinstance(one, str) and _IN_SENTENCE.search(one)}
    assert found == set(NEVER_ONE)


def test_each_singular_differs_from_its_plural() -> None:
    pairs = [one for one in sentences() if isinstance(one, tuple)]
    assert len(pairs) > 15
    assert [pair for pair in pairs if _IN_SENTENCE.search(pair[0])] == []
    assert [pair for pair in pairs if pair[0] == pair[1]] == []


NEVER_ONE_IN = {
    "bot/config/process.py": "a constant",
    "bot/coordination/shard_keeper.py": "shards of a bot that has several",
    "cli/commands/db.py": "the size of a database",
    "cli/doctor_checks/channel_checks.py": "of more servers than were looked at",
    "cli/replay_output.py": "the size of a picture",
    "bot/storage/database.py": "a constant",
    "bot/storage/repositories/memory.py": "a constant",
    "bot/tools/builtin/memory.py": "a constant",
    "bot/tools/calls.py": "a constant, or at least 200",
    "bot/turns/services/turn_slots.py": "the setting; it is one only in tests",
    "discord_io/requests/guards.py": "thousands",
}
"""Files whose texts count without `counted`, and why."""
PARTS = ("bot", "cli", "delivery", "discord_io")


def _texts(path: Path) -> Iterator[str]:
    """Yield each text of a file; the values that are put into it are `{}`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            parts = (p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "%d" in node.value:
            yield node.value


def _miscounted(text: str) -> str | None:
    found = _AFTER_VALUE.search(text)
    # `answers` is a verb, too: `{address} answers HTTP 503`.
    is_verb = found is not None and found[0] == "{} answers"
    return None if found is None or is_verb else text


@pytest.mark.parametrize("part", PARTS)
def test_no_other_text_counts_without_its_singular(part: str) -> None:
    wrong = {
        f"{name}: {text}"
        for path in (SOURCE / part).rglob("*.py")
        if (name := path.relative_to(SOURCE).as_posix()) not in NEVER_ONE_IN
        for text in _texts(path)
        if _miscounted(text)
    }
    assert wrong == set()


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [(0, "message", "0 messages"), (1, "entry", "1 entry"), (2, "entry", "2 entries")],
)
def test_a_number_with_its_noun(count: int, noun: str, words: str) -> None:
    assert counted(count, noun) == words
