"""`oshaberi settings`: the list, one setting, and a mistake."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from oshaberi.bot.config import DECLARED
from oshaberi.cli.command_group import app, run


def told(*names: str) -> str:
    result = CliRunner().invoke(app, ["settings", *names])
    assert result.exit_code == 0
    return result.stdout


def test_every_setting_is_listed_in_one_line() -> None:
    lines = told().splitlines()
    assert [line.split()[0] for line in lines] == list(DECLARED)


def test_each_setting_is_explained() -> None:
    pages = told(*DECLARED).split("\n\n")
    assert [page.splitlines()[0] for page in pages] == list(DECLARED)
    for page, setting in zip(pages, DECLARED.values(), strict=True):
        assert setting.what in " ".join(page.split())
        assert f"OSHABERI_{setting.name.upper()}\n" in page
        assert max(map(len, page.splitlines())) <= 100


def test_the_name_of_the_variable_will_do() -> None:
    assert told("OSHABERI_HOLD_LIMIT") == told("hold_limit")


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("data_dir", "only the operator can set it"),
        ("web_page_tool_enabled", "only the operator can set it"),
        ("auto_channels", "/config set auto_channels, for a server"),
        ("hold_limit", "/config set hold_limit, for a server or (with `in`) for one channel"),
    ],
)
def test_it_says_who_can_change_it(name: str, place: str) -> None:
    assert told(name).splitlines()[-1].removeprefix("  on Discord").strip() == place


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("hold_limt", "did you mean 'hold_limit'?"),
        ("xyzzy", "`oshaberi settings` lists them"),
    ],
)
def test_a_mistake_is_one_line(name: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["settings", "hold_limit", name]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"oshaberi: {name}: no such setting; {hint}\n"


def test_it_needs_no_extra() -> None:
    program = (
        "import sys; sys.modules['pydantic'] = None\n"
        "from oshaberi.cli import main; sys.exit(main(['settings', 'hold_limit']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.startswith("hold_limit\n")
