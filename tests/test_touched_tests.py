"""Which tests `make check` runs for a change."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.touched_tests import (
    NOT_QUICK,
    QUICK,
    READ_BY,
    ROOT,
    Graph,
    Selection,
    changed_paths,
    read_graph,
    selected,
    told,
)

OTHERS = {f"tests/others/test_{number}.py": frozenset[str]() for number in range(40)}
GRAPH = {
    **OTHERS,
    "src/oshaberi/text/engine.py": frozenset({"src/oshaberi/text/rules.py"}),
    "src/oshaberi/text/rules.py": frozenset[str](),
    "src/oshaberi/stream/reader.py": frozenset({"src/oshaberi/text/engine.py"}),
    "src/oshaberi/bot/turns/quotas.py": frozenset({"src/oshaberi/events.py"}),
    "src/oshaberi/events.py": frozenset[str](),
    "tests/text/test_rules.py": frozenset[str](),
    "tests/turns/test_quotas.py": frozenset({"tests/turns/turn_bed.py"}),
    "tests/turns/turn_bed.py": frozenset({"src/oshaberi/bot/turns/quotas.py"}),
    "tests/e2e/test_engine.py": frozenset({"tests/e2e/conftest.py"}),
    "tests/e2e/conftest.py": frozenset({"src/oshaberi/text/engine.py"}),
    "tests/stream/test_reader.py": frozenset({"src/oshaberi/stream/reader.py"}),
    "tests/cli/test_page.py": frozenset({"docs/page.md"}),
    "tests/cli/test_docs.py": frozenset[str](),
    "tests/test_events.py": frozenset[str](),
    "tests/deploy/test_image.py": frozenset[str](),
}


@pytest.mark.parametrize(
    ("changed", "touched"),
    [
        # its folder, and through a conftest what imports its importer; not what is further away
        ("src/oshaberi/text/rules.py", {"tests/text/test_rules.py", "tests/e2e/test_engine.py"}),
        ("src/oshaberi/bot/turns/quotas.py", {"tests/turns/test_quotas.py"}),
        # a module at the top has a file of tests with its name
        ("src/oshaberi/events.py", {"tests/test_events.py", "tests/turns/test_quotas.py"}),
        ("src/oshaberi/text/words.json", {"tests/text/test_rules.py"}),
        ("src/oshaberi/text/gone.py", {"tests/text/test_rules.py"}),
        ("tests/stream/test_reader.py", {"tests/stream/test_reader.py"}),
        ("tests/turns/turn_bed.py", {"tests/turns/test_quotas.py"}),
        ("tests/turns/question.json", {"tests/turns/test_quotas.py"}),
        ("docs/page.md", {"tests/cli/test_page.py", "tests/cli/test_docs.py"}),
        ("deploy/Dockerfile", {"tests/deploy/test_image.py"}),
        (".gitignore", set()),
    ],
)
def test_a_change_touches(changed: str, touched: set[str]) -> None:
    assert set(selected({changed}, GRAPH).reasons) == touched


def test_several_changes_touch_what_each_does() -> None:
    both = selected({"src/oshaberi/text/rules.py", "docs/page.md"}, GRAPH)
    assert len(both.reasons) == 4


def test_it_says_why() -> None:
    lines = list(told(selected({"src/oshaberi/text/rules.py"}, GRAPH)))
    assert lines == [
        "  imports src/oshaberi/text/engine.py → src/oshaberi/text/rules.py: "
        "tests/e2e/test_engine.py",
        "  tests src/oshaberi/text/rules.py: tests/text/test_rules.py",
    ]


def test_nothing_changed() -> None:
    selection = selected((), GRAPH)
    assert set(selection.reasons) == set(QUICK)
    assert selection.without == NOT_QUICK
    assert next(told(selection)) == "nothing changed; now: the quick tests"


def test_everything_is_touched() -> None:
    everywhere = {one: files | {"src/oshaberi/text/rules.py"} for one, files in GRAPH.items()}
    selection = selected({"src/oshaberi/text/rules.py"}, everywhere)
    assert set(selection.reasons) == {*QUICK, "tests/text/test_rules.py"}
    assert "`make test` runs them all" in selection.why


def test_a_changed_test_runs_even_if_it_is_not_quick() -> None:
    [first, *others] = NOT_QUICK
    graph = {**{one: frozenset({"tests/conftest.py"}) for one in GRAPH}, first: frozenset[str]()}
    selection = selected({first, "tests/conftest.py"}, graph)
    assert first in selection.reasons
    assert selection.without == tuple(others)


# -- this repository -----------------------------------------------------------------------------


@cache
def _graph_here() -> Graph:
    """Return the graph of this repository, which takes seconds to read."""
    known = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return read_graph(known.stdout.splitlines())


def _selected_here(changed: str) -> Selection:
    assert changed in _graph_here()
    return selected([changed], _graph_here())


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the repository")
def test_the_graph_is_that_of_the_sources() -> None:
    touched = _selected_here("src/oshaberi/bot/commands/help_command.py").reasons
    assert {"tests/bot/test_docs.py", "tests/test_imports.py"} <= touched.keys()
    assert "stage/tests/stage_server/test_messages.py" not in touched
    touched = _selected_here("stage/src/discord_stage/rest/routes/user_routes.py").reasons
    assert "stage/tests/stage_server/test_messages.py" in touched
    assert "tests/text/test_sentences.py" not in touched
    touched = _selected_here("stage/tests/stage_server/odd_requests.py").reasons
    assert "tests/inspector/test_odd_requests.py" in touched


def test_relative_imports_and_names_in_strings(tmp_path: Path) -> None:
    written = {
        "src/own/part/one.py": "from . import two\nfrom ..other import three",
        "src/own/part/two.py": "",
        "src/own/other/three.py": "",
        "src/own/part/__init__.py": "from .two import x",
        "tests/test_it.py": 'patch("own.part.one.a"); three = "own.other.three:X"; "page.md"',
        "tests/conftest.py": "",
        "docs/page.md": "",
    }
    for name, text in written.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    graph = read_graph({*written, "src/own/gone.py"}, tmp_path)
    assert graph["src/own/part/one.py"] == {"src/own/part/two.py", "src/own/part/__init__.py"} | {
        "src/own/other/three.py"
    }
    assert graph["src/own/part/__init__.py"] == {"src/own/part/two.py"}
    assert graph["tests/test_it.py"] == {
        *("src/own/part/one.py", "src/own/part/__init__.py", "src/own/other/three.py"),
        *("tests/conftest.py", "docs/page.md"),
    }
    assert "src/own/gone.py" not in graph


def test_everything_that_is_named_here_exists() -> None:
    named = {*QUICK, *NOT_QUICK, *(one for *_, readers in READ_BY for one in readers)}
    named |= {begins for begins, _, _ in READ_BY}
    assert [one for one in sorted(named) if not (ROOT / one).exists()] == []


def test_what_changed_is_what_git_says(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        own = (
            "-c",
            "user.name=N",
            "-c",
            "user.email=n@example.org",
            "-c",
            "init.defaultBranch=main",
        )
        subprocess.run(["git", *own, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def write(name: str, text: str) -> None:
        (tmp_path / name).write_text(text, encoding="utf-8")

    git("init")
    for name in ("stays", "committed", "uncommitted", "deleted"):
        write(name, "before")
    write(".gitignore", "ignored")
    git("add", ".")
    git("commit", "-m", "first")
    assert changed_paths(tmp_path) == set()
    git("checkout", "-b", "branch")
    write("committed", "after")
    git("commit", "-am", "second")
    write("uncommitted", "after")
    write("new ü", "")
    write("ignored", "")
    (tmp_path / "deleted").unlink()
    assert changed_paths(tmp_path) == {"committed", "uncommitted", "new ü", "deleted"}
