"""No token is in the command line of any process: everybody on a machine may read those."""

from __future__ import annotations

import html
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from oshaberi.bot.local_run.page_opening import OPENING_FILE, kept_token, opening_page
from tests.local_run.local_run_process import OSHABERI, local_run

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/cmdline").exists(), reason="there is no /proc to look at"
)
PATIENCE_S = 60.0
BROWSER = """#!/bin/sh
printf '%s' "$1" > "$0.new" && mv "$0.new" "$0.asked"
"""
BOT = """
import os, sys
print(os.environ["DISCORD_TOKEN"], flush=True)
sys.stdin.read()
"""


def command_lines() -> str:
    """Of every process that is there."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:  # it has just ended
            continue
    return "\n".join(lines)


def text_of(path: Path) -> str:
    """When it is there."""
    deadline = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert time.monotonic() < deadline, "the browser was never started"
        time.sleep(0.02)
    return path.read_text()


def test_the_browser_is_not_told_the_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = tmp_path / "browser"
    browser.write_text(BROWSER)
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", str(browser))
    with local_run(tmp_path / "data", "--browser") as running:
        asked = text_of(tmp_path / "browser.asked")
        assert running.token
        assert running.token not in asked
        assert running.token not in command_lines()
        page = Path(unquote(urlsplit(asked).path))
        assert running.address in page.read_text()
        assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_the_page_that_opens_leads_to_the_address_alone(tmp_path: Path) -> None:
    address = f'http://127.0.0.1:1/?token={kept_token(tmp_path)}&a="<b>'
    page = opening_page(tmp_path, address)
    assert page == tmp_path / OPENING_FILE
    text = page.read_text(encoding="utf-8")
    (escaped,) = re.findall(r'content="0; url=([^"]*)"', text)
    assert "<" not in escaped
    assert html.unescape(escaped) == address
    (tmp_path / OPENING_FILE).chmod(0o644)
    assert stat.S_IMODE(opening_page(tmp_path, address).stat().st_mode) == 0o600


def test_a_bot_on_a_stage_gets_its_token_in_its_environment(tmp_path: Path) -> None:
    bot = tmp_path / "bot.py"
    bot.write_text(BOT)
    with subprocess.Popen(
        [*OSHABERI, "stage", "exec", str(bot)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdin is not None
        token = process.stdout.readline().strip()
        control = process.stderr.readline().partition("token=")[2].strip()
        assert token
        assert control
        seen = command_lines()
        assert str(bot) in seen
        assert token not in seen
        assert control not in seen
        process.stdin.close()
        assert process.wait(60) == 0


def test_no_option_takes_a_secret() -> None:
    """Keys come from the environment, a file or the page, never from a command line."""
    asked = subprocess.run(
        [sys.executable, "-c", OPTIONS], capture_output=True, text=True, env=dict(os.environ)
    )
    named = asked.stdout.split()
    assert len(named) > 20
    secret = re.compile(r"token(?!s)|secret|password|api-?key|(?:^|-)key(?!-env)")
    # That of `stage exec` is made up, for a Discord on this machine.
    assert [name for name in named if secret.search(name)] == ["--token"]


OPTIONS = """
from oshaberi.cli.command_group import app
import click
def walk(command, context):
    for parameter in command.params:
        print(*parameter.opts, sep="\\n")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            walk(command.get_command(context, name), click.Context(command, parent=context))
walk(app, click.Context(app))
"""
