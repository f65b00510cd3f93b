"""Every dependency has bounds, a licence and a reason, and docs/dependencies.md says them."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.dependencies import (
    BY_HAND,
    MODULES,
    PAGE,
    REASONS,
    ROOT,
    SAID_ELSEWHERE,
    SERVERS,
    THROUGH,
    Dependency,
    direct,
    has_licence_text,
    licence,
    page,
    servers,
    split,
)

SOURCE = ROOT / "src" / "oshaberi"
FREE = re.compile(
    r"MIT|ISC|BSD|Apache-2\.0|MPL-2\.0|OFL-1\.1|CNRI-Python|MIT-CMU|CC-BY-4\.0", re.IGNORECASE
)
OURS = {"oshaberi", "bench"}


def test_the_page_is_what_the_script_writes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make generate"


@pytest.mark.parametrize("one", [*direct(), *servers()], ids=lambda one: one.name)
def test_each_has_a_lower_and_an_upper_bound(one: Dependency) -> None:
    exact = re.fullmatch(r"==[\d.]+", one.bounds)
    assert exact or re.fullmatch(r">=[\d.]+,<[\d.]+", one.bounds)


@pytest.mark.parametrize("one", direct(), ids=lambda one: one.name)
def test_each_has_a_free_licence(one: Dependency) -> None:
    assert FREE.search(licence(one.name))
    assert "GPL" not in licence(one.name)


@pytest.mark.parametrize("name", SAID_ELSEWHERE)
def test_a_licence_that_metadata_do_not_tell_is_in_a_file(name: str) -> None:
    if name == "azure-identity":
        pytest.importorskip("azure.identity", reason="the extra azure is not installed")
    assert has_licence_text(name)


def test_each_has_a_reason_and_nothing_else_has() -> None:
    assert sorted(REASONS) == sorted(one.name for one in direct())


def test_each_model_server_has_a_licence_and_a_reason() -> None:
    assert sorted(SERVERS) == sorted(one.name for one in servers())
    assert all(FREE.search(licensed) for licensed, _reason in SERVERS.values())


def test_what_is_written_by_hand_is_where_the_table_says() -> None:
    assert [path for path in BY_HAND if not (ROOT / path).exists()] == []


def test_what_builds_the_package_has_bounds_too() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        required = tomllib.load(file)["build-system"]["requires"]
    assert [split(one)[1] for one in required] == [">=1.27,<2"]


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


def test_all_that_is_imported_is_a_dependency() -> None:
    roots = {root for path in SOURCE.rglob("*.py") for root in imported(path)}
    foreign = roots - OURS - set(sys.stdlib_module_names)
    known = {one.name for one in direct()}
    assert {MODULES.get(root, root) for root in foreign} - known == set(THROUGH)
    assert set(THROUGH.values()) <= known
