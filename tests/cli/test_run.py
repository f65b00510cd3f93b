"""`oshaberi run` without a token, from the command line to a streamed answer."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from urllib.request import urlopen

import pytest
from click.testing import CliRunner

from oshaberi import cli
from oshaberi.cli.command_group import app
from oshaberi.cli.commands.run import _settings, _warn_of_missing_keys
from tests.free_ports import free_port
from tests.local_run.local_run_process import OSHABERI, environment, local_run


def refused(data: Path, *options: str, status: int = 78, **more: str) -> str:
    """The one line it says, when it does not start."""
    done = subprocess.run(
        [*OSHABERI, "run", "--no-browser", *options],
        capture_output=True,
        text=True,
        env=environment(data, **more),
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (status, "")
    (line,) = done.stderr.splitlines()
    return line


def test_a_newcomer_gets_a_page_and_a_streamed_answer(tmp_path: Path) -> None:
    scenes = tmp_path / "scenes"
    with local_run(tmp_path / "data", "--speed", "50", "--record", str(scenes)) as running:
        assert "<title>Discord stage" in running.page()
        assert sum(prompt["first"] for prompt in running.get("prompts")) == 6
        running.post("post", channel="general", content="Compare three kinds of tea in a table")
        answered = running.until(lambda found: any(one["attachments"] for one in found[1:]))
        assert answered[1]["author"]["username"] == "Mochi"
        assert running.get("streams")[0]["channel"]
        assert running.end() == 0
    (scene,) = scenes.iterdir()
    replayed = CliRunner().invoke(app, ["replay", str(scene)])
    assert replayed.exit_code == 0
    assert "table-1.png" in replayed.stdout


@pytest.mark.slow
def test_what_the_bot_learnt_is_there_the_next_time(tmp_path: Path) -> None:
    with local_run(tmp_path / "data") as running:
        running.post("run", command="config set", options={"key": "humanizer_degree", "value": "0"})
        running.post("run", command="config show", options={}, channel="general")
        running.until(lambda found: "humanizer_degree" in str(found))
        assert running.end() == 0
    with local_run(tmp_path / "data") as running:
        running.post("run", command="config show", options={}, channel="general")
        told = running.until(lambda found: "humanizer_degree" in str(found))
        assert "0" in str(told[-1]["embeds"] or told[-1]["content"])


@pytest.mark.slow
def test_a_persona_of_ones_own_is_the_one_to_meet(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[persona]\nname = "Aiko"\nprompt = "You are Aiko, a lighthouse keeper."\n')
    with local_run(tmp_path / "data", "--speed", "100", "--config", str(file)) as running:
        running.post("post", channel="general", content="do an interview")
        found = running.until(lambda found: len(found) > 2)
        assert found[1]["author"]["username"] == "Aiko"
        assert found[2]["author"]["username"] == "You (Aiko)"  # it knew as whom it spoke


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        line = refused(tmp_path, "--port", str(port), status=75)
    assert line.startswith(f"oshaberi: stage_port: {port} is in use")
    assert "--port" in line


@pytest.mark.slow
def test_the_advice_about_a_port_in_use_works(tmp_path: Path) -> None:
    """Also when it is our own program: with another port alone the folder would be in use."""
    with local_run(tmp_path / "data") as first:
        port = first.url.rpartition(":")[2]
        line = refused(tmp_path / "data", "--port", port, status=75)
        advice = re.search(r"OSHABERI_DATA_DIR=(\S+) oshaberi run --port 0$", line)
        assert advice is not None
        with local_run(tmp_path / advice[1]) as second:
            assert second.get("world")["bot"]


@pytest.mark.slow
def test_two_on_one_folder(tmp_path: Path) -> None:
    with local_run(tmp_path / "data"):
        line = refused(tmp_path / "data", "--port", "0", status=75)
    assert line.startswith(f"oshaberi: another oshaberi runs on {tmp_path / 'data'}")
    assert "OSHABERI_DATA_DIR" in line


def test_no_place_to_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    line = refused(tmp_path / "file" / "data", "--port", "0")
    assert line.startswith(f"oshaberi: data_dir: {tmp_path}")
    assert "OSHABERI_DATA_DIR" in line


def test_without_the_stage_it_says_what_to_do(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['discord_stage'] = None;"
        "from oshaberi.cli import main; sys.exit(main(['run', '--no-browser']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment(tmp_path),
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (78, "")
    assert done.stderr == (
        "oshaberi: there is no Discord token, and the local stage is not installed: set "
        'OSHABERI_DISCORD_TOKEN, or: pip install "oshaberi[local]" '
        "(in a checkout: pip install ./stage)\n"
    )


def test_a_setting_that_is_wrong(tmp_path: Path) -> None:
    line = refused(tmp_path, OSHABERI_HUMANIZER_DEGREE="7")
    assert "humanizer_degree: 7" in line
    assert "OSHABERI_HUMANIZER_DEGREE" in line


def test_a_token_under_another_name_and_a_service_beside_it_are_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs on the stage, whose health does not pretend to be on Discord."""
    port = free_port()
    monkeypatch.setattr(
        "tests.local_run.local_run_process.environment",
        partial(
            environment,
            OSHABERI_HEALTH_PORT=str(port),
            OSHABERI_REDIS_PORT="tcp://10.96.0.7:6379",
            DISCORD_TOKEN="some.real.token",
        ),
    )
    with local_run(tmp_path / "data") as running:
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=30) as answer:
            assert json.load(answer)["runs_on"] == "stage"
        assert running.end() == 0
    log = (tmp_path / "run.log").read_text(encoding="utf-8")
    assert re.search(r"WARNING .* DISCORD_TOKEN is set, but .* runs on the local stage", log), log
    assert re.search(r"WARNING .* describe a service .*: OSHABERI_REDIS_PORT;", log), log


@pytest.mark.skipif(os.geteuid() == 0, reason="root may use every port")
def test_a_port_one_may_not_use(tmp_path: Path) -> None:
    assert "80" in refused(tmp_path, "--port", "80")


def test_what_is_missing_is_said_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[[models]]\nprovider = "groq"\nmodel = "llama"\n')
    monkeypatch.setenv("OSHABERI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    caplog.set_level("WARNING")
    _warn_of_missing_keys(_settings(file, None))
    assert "model groq llama has no API key: set GROQ_API_KEY" in caplog.text
    caplog.clear()
    monkeypatch.setenv("GROQ_API_KEY", "x")
    _warn_of_missing_keys(_settings(file, None))
    assert caplog.text == ""
    file.write_text('discord_token = "a.b.c"\n')
    _warn_of_missing_keys(_settings(file, None))
    assert "the settings have no model" in caplog.text


def test_fresh_is_for_the_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OSHABERI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("OSHABERI_DISCORD_TOKEN", "some.real.token")
    assert cli.main(["run", "--fresh"]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("oshaberi: --fresh is for the local stage, but there is a Discord token")
