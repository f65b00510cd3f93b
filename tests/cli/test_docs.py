"""The documents tell the truth: settings, commands and every example in them.

`make generate` writes the tables of docs/settings.md again.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import shlex
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from click import Command, Group
from click.testing import CliRunner
from docs.pictures.degree_pictures import ANSWER, pictures

from oshaberi.bot.config import DECLARED, SERVER_KEYS, Setting, load
from oshaberi.bot.config.all_settings import OPERATOR_KEYS, SECTIONS
from oshaberi.bot.config.going_live import NEEDED, WANTED
from oshaberi.bot.tools import mcp_servers
from oshaberi.cli.command_group import COMMANDS, LazyGroup, app
from oshaberi.text.config import TextConfig
from oshaberi.virtual_time import run_virtual
from tests.cli.document_pages import DOCS, PAGES, ROOT, blocks, name_of, table, text_of, with_table

SETTINGS = DOCS / "settings.md"


# -- settings ------------------------------------------------------------------------------------


def _allowed(setting: Setting) -> str:
    about = setting.about
    if "low" in about:
        admins = f"; admins: to {about['server_high']}" if "server_high" in about else ""
        return f"{about['low']} to {about['high']}{admins}"
    if "choices" in about:
        return ", ".join(f"`{choice}`" for choice in about["choices"])
    return (
        "`true`, `false`" if "switch" in about else setting.allowed.removeprefix("a number from ")
    )


def _default(setting: Setting) -> str:
    default = setting.default
    if "otherwise" in setting.about:
        return str(setting.about["otherwise"])
    if default is None or default in ((), {}, ""):
        return "none"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _row(setting: Setting) -> str:
    allowed = f"{_allowed(setting)}{_admins(setting)}"
    return f"| `{setting.name}` | {_default(setting)} | {allowed} | {setting.what} |"


def _admins(setting: Setting) -> str:
    """How long a list or a text of admins may be."""
    most, longest = setting.about.get("server_most"), setting.about.get("server_longest")
    limits = [f"{most} items" if most else "", f"{longest} characters" if longest else ""]
    told = " of at most ".join(limit for limit in limits if limit)
    return f"; admins: at most {told}" if told and setting.name in SERVER_KEYS else ""


def settings_table(section: type) -> str:
    rows = [_row(setting) for setting in DECLARED.values() if setting.section is section]
    return table("| setting | default | allowed | what |", rows)


def settings_page(text: str) -> str:
    """The page with its tables as the declarations have them."""
    for section in SECTIONS:
        text = with_table(text, section.__name__, settings_table(section))
    return text


def test_settings_are_documented_as_declared() -> None:
    page = SETTINGS.read_text(encoding="utf-8")
    assert page == settings_page(page), "run: make generate"


@pytest.mark.parametrize("key", DECLARED)
def test_every_setting_is_in_the_page(key: str) -> None:
    assert f"| `{key}` | " in SETTINGS.read_text(encoding="utf-8")


def _tomls() -> list[Any]:
    return [
        pytest.param(content, id=name_of(page))
        for page in PAGES
        for language, content in blocks(page)
        if language == "toml" and not content.startswith("[project")  # a package's pyproject.toml
    ]


@pytest.mark.parametrize("content", _tomls())
def test_settings_in_the_documents_can_be_used(content: str, tmp_path: Path) -> None:
    path = tmp_path / "oshaberi.toml"
    path.write_text(content, encoding="utf-8")
    settings = load(path, {})
    assert settings.origins
    mcp_servers(settings.mcp_servers)


RECIPES = (
    *("ollama", "llamacpp", "lmstudio", "vllm"),
    *("openrouter", "openai", "anthropic", "google"),
)


def test_there_is_a_recipe_of_four_lines_for_each_common_provider(tmp_path: Path) -> None:
    first = blocks(DOCS / "providers.md")[: len(RECIPES)]
    assert [language for language, _ in first] == ["toml"] * len(RECIPES)
    path = tmp_path / "oshaberi.toml"
    for name, (_, content) in zip(RECIPES, first, strict=True):
        assert len(content.splitlines()) == 4
        path.write_text(content, encoding="utf-8")
        [model] = load(path, {}).models
        assert model.provider == name
        assert model.base_url or model.variable


def test_the_example_file_can_be_used(tmp_path: Path) -> None:
    example = next(code for language, code in blocks(SETTINGS) if language == "toml")
    path = tmp_path / "oshaberi.toml"
    path.write_text(example, encoding="utf-8")
    settings = load(path, {})
    assert [model.provider for model in settings.models] == ["openai", "ollama"]
    assert settings.persona is not None
    assert settings.turn.llm_stop_strings == ("###", "<|end|>")


def test_what_admins_may_not_change_is_documented() -> None:
    page = SETTINGS.read_text(encoding="utf-8").split("Admins change")[1].split("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", page)) - {"config"} == set(OPERATOR_KEYS)


def test_what_a_stream_depends_on_is_documented() -> None:
    page = SETTINGS.read_text(encoding="utf-8")
    context = [field.name for field in fields(TextConfig) if "what" not in field.metadata]
    assert len(context) == 7
    assert [name for name in context if f"`{name}`" not in page] == []


def test_every_extra_is_documented() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = text_of(DOCS / "installing.md").split("<!-- extras -->")[1].split("<!-- end -->")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == sorted(
        project["optional-dependencies"]
    )


# -- commands ------------------------------------------------------------------------------------


def _commands() -> list[tuple[str, Command]]:
    """Every command by its full name; of a group, those in it."""
    assert isinstance(app, LazyGroup)
    found: list[tuple[str, Command]] = []
    for name in COMMANDS:
        command = app.get_command(app.make_context("oshaberi", [name, "--help"]), name)
        assert command is not None
        if isinstance(command, Group):
            found += [(f"{name} {inner}", one) for inner, one in command.commands.items()]
        else:
            found.append((name, command))
    return found


ALL = _commands()


@pytest.mark.parametrize(("name", "command"), ALL, ids=[name for name, _ in ALL])
def test_commands_and_their_options_are_documented(name: str, command: Command) -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert f"## oshaberi {name}" in page
    section = page.split(f"## oshaberi {name}")[1].split("\n## ")[0]
    options = [option for param in command.params for option in param.opts]
    flags = [option for option in options if option.startswith("--")]
    assert [flag for flag in flags if f"`{flag}" not in section] == []


@pytest.mark.parametrize(("name", "command"), ALL, ids=[name for name, _ in ALL])
def test_help_has_an_example(name: str, command: Command) -> None:
    assert command.help is not None
    assert f"oshaberi {name}" in command.help.split("Example")[1]


# -- examples ------------------------------------------------------------------------------------


def _consoles() -> list[Any]:
    found = []
    for page in PAGES:
        for language, content in blocks(page):
            if language == "console":
                command, _, output = content.partition("\n")
                found.append(pytest.param(command, output, id=f"{name_of(page)}: {command}"))
    return found


@pytest.mark.parametrize(("command", "output"), _consoles())
def test_what_the_documents_show_is_what_comes(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tour = blocks(DOCS / "trying-the-parts.md")
    answer = next(content for language, content in tour if language == "markdown")
    path = tmp_path / "answer.md"
    path.write_text(answer, encoding="utf-8")
    monkeypatch.chdir(ROOT)
    prompt, name, *args = shlex.split(command)
    assert (prompt, name) == ("$", "oshaberi")
    result = CliRunner().invoke(app, [str(path) if arg == "answer.md" else arg for arg in args])
    assert result.stdout == output


def _programs() -> list[Any]:
    found = []
    for page in PAGES:
        content = blocks(page)
        for number, (language, code) in enumerate(content):
            if language == "python":
                found.append(
                    pytest.param(code, content[number + 1], id=f"{name_of(page)}: {number}")
                )
    return found


@pytest.mark.parametrize(("code", "following"), _programs())
def test_programs_in_the_documents_run(
    code: str, following: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In virtual time: how long something took may be part of what is printed."""
    monkeypatch.setattr(asyncio, "run", run_virtual)
    language, output = following
    assert language == "text"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "example", "exec"), {})
    assert printed.getvalue() == output


def test_the_scene_in_the_documents_does_what_it_expects(tmp_path: Path) -> None:
    scene = next(code for language, code in blocks(ROOT / "docs/scenes.md") if language == "json")
    path = tmp_path / "scene.json"
    path.write_text(scene, encoding="utf-8")
    result = CliRunner().invoke(app, ["replay", "--check", str(path)])
    assert result.stdout == "1 scene: as expected\n"


def test_there_are_examples() -> None:
    assert len(_consoles()) >= 5
    assert len(_programs()) >= 5


def test_pictures_are_what_comes_out() -> None:
    answer = next(code for language, code in blocks(DOCS / "degrees.md") if language == "markdown")
    assert answer == ANSWER
    drawn = list(pictures())
    assert len(drawn) == 4
    for path, picture in drawn:
        assert text_of(path) == picture, "run: make generate"


# -- what the documents say in numbers -----------------------------------------------------------


def test_the_invitation_has_the_permissions_that_are_used() -> None:
    page = text_of(DOCS / "getting-started.md")
    assert f"&permissions={sum(NEEDED.values()) + sum(WANTED.values())}\n" in page
    assert [name for name in {**NEEDED, **WANTED} if name not in page] == []


def _makes() -> set[str]:
    [line] = re.findall(r"^\.PHONY: (.*)$", text_of(ROOT / "Makefile"), re.MULTILINE)
    return set(line.split())


def test_make_has_what_the_documents_name() -> None:
    named = {
        found
        for page in PAGES
        for found in re.findall(r"(?:^|`)make ([a-z-]+)", text_of(page), re.MULTILINE)
    }
    assert named == _makes()


def test_the_extras_in_the_documents_exist() -> None:
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    extras = set(project["optional-dependencies"])
    named = {
        extra
        for page in PAGES
        for found in re.findall(r"oshaberi\[([a-z,]+)\]", text_of(page))
        for extra in found.split(",")
    }
    assert named
    assert named - extras == set()


def test_variables_in_the_documents_are_settings() -> None:
    known = {f"OSHABERI_{key.upper()}" for key in DECLARED} | {
        *("OSHABERI_CONFIG", "OSHABERI_SECRET_KEY"),
    }
    for page in PAGES:
        named = set(re.findall(r"\bOSHABERI_[A-Z_]+\b", text_of(page)))
        assert named - known == set(), name_of(page)
