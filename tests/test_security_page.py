"""docs/security.md: every test, setting and command that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from oshaberi.bot.commands import describe_commands
from oshaberi.bot.config import DECLARED

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([^`\n]+)`", TEXT)))
PROOFS = [name for name in NAMED if name.startswith(("tests/", "stage/tests/"))]
SETTINGS = [name for name in NAMED if re.fullmatch(r"[a-z]+(?:_[a-z]+)+", name)]
COMMANDS = [name for name in NAMED if name.startswith("/")]
OPTIONS = frozenset({"base_url"})
"""Options of commands that are written like settings."""
RULE = re.compile(r"^\| (?P<rule>.+\.) \| `(?P<proof>(?:stage/)?tests/[^`]+)` \|$")
LEVELS = (
    "Operator",
    "Bot owner",
    "Server admin",
    "Member",
    "Model",
    "Tool server",
    "Visitor of the local stage",
)


@pytest.mark.parametrize("proof", PROOFS)
def test_every_proof_exists(proof: str) -> None:
    path, *names = proof.split("::")
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".json"):
        assert names == []
        return
    *classes, test = names
    for name in classes:
        assert f"\nclass {name}:" in text
    indent = "    " * len(classes)
    assert re.search(rf"^{indent}def {test}\(", text, re.MULTILINE)
    assert test.startswith("test_")


def test_every_rule_has_a_proof() -> None:
    rows = [line for line in _part("What each may do").splitlines() if line.startswith("| ")]
    rules = [row for row in rows if row != "| rule | proof |"]
    assert [row for row in rules if not RULE.match(row)] == []
    assert len(rules) > 60


def test_every_level_of_trust_has_rules() -> None:
    headings = re.findall(r"^### (.+)$", _part("What each may do"), re.MULTILINE)
    assert headings[: len(LEVELS)] == list(LEVELS)


def test_every_foreign_input_has_a_bound_and_a_test() -> None:
    rows = re.findall(
        r"^\| (?!what )(.+) \|$", _part("Every foreign input and its bound"), re.MULTILINE
    )
    assert len(rows) > 40
    for row in rows:
        what, who, bound, beyond, test = row.split(" | ")
        assert what
        assert who
        assert bound
        assert beyond
        assert re.match(r"`(?:stage/)?tests/\S+\.py::(?:test_|Test)", test), row


def test_every_file_of_attacks_is_named() -> None:
    files = {path.name for path in (ROOT / "tests" / "attacks").glob("test_*.py")}
    assert files - {proof.split("::")[0].rpartition("/")[2] for proof in PROOFS} == {
        "test_loop_watch.py"
    }


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_exists(name: str) -> None:
    assert name in DECLARED or name in OPTIONS


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_exists(name: str) -> None:
    plain = name.partition(" whose:")[0]
    assert plain in {one.name for one in describe_commands()}


def test_settings_and_commands_are_looked_at() -> None:
    assert {"allow_local_models", "server_limits", "max_thinking_ms"} <= set(SETTINGS)
    assert {"/usage whose:server", "/regenerate", "/memory forget all"} <= set(COMMANDS)


def test_both_front_pages_lead_to_it() -> None:
    assert "(docs/security.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(security.md)" in (ROOT / "docs" / "README.md").read_text(encoding="utf-8")


def _part(heading: str) -> str:
    return TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
