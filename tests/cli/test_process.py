"""The `oshaberi` command as a process: exit status, stderr, pipes, start-up."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from oshaberi import __version__, cli

SCENES = Path(__file__).parents[1] / "scenes"
OSHABERI = [sys.executable, "-m", "oshaberi"]


def oshaberi(*args: str, text: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*OSHABERI, *args], input=text, capture_output=True, env={**os.environ, **env}, timeout=60
    )


def test_text_in_messages_out_whatever_the_locale() -> None:
    done = oshaberi("chunk", text="ありがとう\nthanks".encode(), LC_ALL="C", PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == "ありがとう\n---8<---\nthanks\n"


def test_messages_leave_while_text_still_comes() -> None:
    with subprocess.Popen(
        [*OSHABERI, "chunk"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"first\nsec")
        process.stdin.flush()
        assert process.stdout.readline() == b"first\n"
        process.stdin.write(b"ond\n")
        process.stdin.close()
        assert process.stdout.read() == b"---8<---\nsecond\n"
    assert process.returncode == 0


def chunking() -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen([*OSHABERI, "chunk"], stdin=pipe, stdout=pipe, stderr=pipe)


def test_a_reader_who_leaves_is_no_error() -> None:
    with chunking() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"first\nsecond\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b"third\n" * 1000)
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_ctrl_c_is_quiet() -> None:
    with chunking() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"first\nsecond")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b""
    assert process.returncode == 130


def test_on_a_terminal_there_is_a_hint_and_rules() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*OSHABERI, "chunk"], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        os.write(ours, b"one\ntwo\n\x04")
        assert b"Ctrl-D" in process.stderr.read()
        shown = os.read(ours, 4096).decode()
    os.close(theirs)
    os.close(ours)
    assert process.returncode == 0
    assert [part in shown for part in ("── 1 ──", "── 2 ──", "---8<---")] == [True, True, False]


LIGHT = """
import sys
from oshaberi.cli import main
assert main(sys.argv[1:]) == 0
print(*sys.modules, file=sys.stderr)
"""


OF_THE_BOT = {"pydantic", "pydantic_settings", "sqlalchemy", "alembic", "discord", "aiohttp"}
OF_THE_BOT |= {"oshaberi.turns", "oshaberi.config.loading"}


def imported_by(*args: str) -> set[str]:
    code = [sys.executable, "-c", LIGHT, *args]
    done = subprocess.run(code, capture_output=True, check=True, timeout=60)
    return set(done.stderr.decode().split())


def test_chunk_imports_nothing_heavy(tmp_path: Path) -> None:
    path = tmp_path / "short.md"
    path.write_text("One line (with a bracket).\nAnother: 10:30.", encoding="utf-8")
    heavy = {"asyncio", "emoji", "PIL", "difflib", "logging", "random", "traceback"}
    assert (heavy | OF_THE_BOT) & imported_by("chunk", str(path)) == set()


def test_replay_draws_only_what_has_to_be_drawn() -> None:
    modules = imported_by("replay", str(SCENES / "typing-between.json"))
    assert modules & {"PIL", "emoji", "oshaberi.render.paint", *OF_THE_BOT} == set()
    assert "PIL" in imported_by("replay", str(SCENES / "table.json"))


# -- in this process: status and line ------------------------------------------------------------


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"oshaberi {__version__}\n"


@pytest.mark.parametrize("args", [[], ["--help"]])
def test_help_lists_the_commands(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(args) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("chunk", "replay", "explain", "run", "Example"))


@pytest.mark.parametrize("command", ["chunk", "replay", "explain", "run"])
def test_help_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([command, "--help"]) == 0
    assert f"  oshaberi {command}" in capsys.readouterr().out.split("Example")[1]


BAD = [
    (["chnk"], "no such command 'chnk'; did you mean 'chunk'? (see oshaberi --help)"),
    (["qqqq"], "no such command 'qqqq'; there are run, chunk"),
    (["--qqq"], "No such option"),
    (["chunk", "--degree", "9"], "(see oshaberi chunk --help)"),
    (["chunk", "--set", "hold_limit=9"], "hold_limit: 9 is not a whole number from 50 to 4000"),
    (["chunk", "none.md"], "none.md: cannot be read: No such file or directory"),
    (["chunk", "a\0b"], "cannot be read"),
    (["replay"], "Missing argument 'SCENE...'"),
    (["replay", "none.json"], "none.json: cannot be read: No such file or directory"),
    (["replay", "--check", "--json", "x"], "--json and --check do not go together"),
    (["replay", "--rechunk", "x", "y"], "'x' is not a valid integer"),
    (["explain", "none.json"], "none.json: cannot be read"),
    (["run", "--speed", "0"], "0.1<=x<=100"),
]


@pytest.mark.parametrize(("args", "reason"), BAD, ids=[" ".join(args) for args, _ in BAD])
def test_bad_input_is_one_line_and_status_2(
    args: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("oshaberi: ")
    assert err.count("\n") == 1
    assert reason in err


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--debug", "replay", "none.json"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_fault_of_ours_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from oshaberi.cli import chunk

    def broken(*_args: object) -> None:
        raise RuntimeError("oh no")

    monkeypatch.setattr(chunk, "text_config", broken)
    assert cli.main(["chunk", "-"]) == 70
    err = capsys.readouterr().err
    assert err == "oshaberi: internal error: RuntimeError: oh no (--debug shows where)\n"
