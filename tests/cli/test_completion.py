"""Completion: the scripts, and what a real shell makes of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from oshaberi import cli
from oshaberi.cli.command_group import COMMANDS
from oshaberi.text.config import TextConfig

BASH = shutil.which("bash")


def completed(*words: str) -> list[str]:
    """What a shell is told when it asks about the last word."""
    line = {"COMP_WORDS": " ".join(["oshaberi", *words]), "COMP_CWORD": str(len(words))}
    done = subprocess.run(
        [sys.executable, "-m", "oshaberi"],
        env={**os.environ, **line, "_OSHABERI_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_commands_options_files_and_settings() -> None:
    assert completed("c") == ["plain,chunk", "plain,config", "plain,completion"]
    assert completed("chunk", "--de") == ["plain,--degree"]
    assert completed("chunk", "x") == ["file,x"]
    assert completed("config", "s") == ["plain,show"]
    assert completed("completion", "z") == ["plain,zsh"]
    assert completed("chunk", "--set", "hold") == ["plain,hold_limit="]
    assert completed("chunk", "--set", "humani") == ["plain,humanizer_degree="]
    assert TextConfig().hold_limit == 500
    assert completed("nonsense", "x") == []


def test_naming_the_commands_imports_none_of_them() -> None:
    code = (
        "import sys; from oshaberi.cli.command_group import app; "
        "from click.shell_completion import BashComplete as B; b = B(app, {}, 'oshaberi', 'X'); "
        "print(len(b.get_completions([], '')));"
        "print(*[m for m in sys.modules if m.startswith('oshaberi.cli.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    count, modules = done.stdout.splitlines()
    assert int(count) == len(COMMANDS)
    assert modules == "oshaberi.cli.command_group"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_name_the_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"_OSHABERI_COMPLETE={shell}_complete" in script


def test_explanations_have_commas(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", "fish"]) == 0
    assert 'string split -m 1 "," $completion' in capsys.readouterr().out


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", "tcsh"]) == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in capsys.readouterr().err


@pytest.mark.skipif(BASH is None, reason="no bash here")
def test_a_real_bash_completes(tmp_path: Path) -> None:
    program = tmp_path / "oshaberi"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m oshaberi "$@"\n')
    program.chmod(0o755)
    script = """
    eval "$(oshaberi completion bash)"
    complete -p oshaberi
    COMP_WORDS=(oshaberi replay --ch); COMP_CWORD=2
    _oshaberi_completion oshaberi; echo "${COMPREPLY[@]}"
    COMPREPLY=(); COMP_WORDS=(oshaberi db u); COMP_CWORD=2
    _oshaberi_completion oshaberi; echo "${COMPREPLY[@]}"
    """
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    assert BASH is not None
    done = subprocess.run(
        [BASH, "--norc", "-c", script],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "complete -o nosort -F _oshaberi_completion oshaberi",
        "--check",
        "upgrade",
    ]
