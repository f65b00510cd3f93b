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
from oshaberi.cli.engine_build import build_name

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


INTERRUPTED = """
import sys
class CtrlC:
    def find_spec(self, name, *_more):
        if name == sys.argv[1]:
            raise KeyboardInterrupt
sys.meta_path.insert(0, CtrlC())
from oshaberi.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    ("module", "args"),
    [
        ("oshaberi.cli.command_group", ["chunk"]),
        ("oshaberi.text.engine", ["chunk"]),
        ("oshaberi.scenes", ["replay", "-"]),
        ("oshaberi.bot.config.loading", ["run"]),
        ("oshaberi.bot.local_run.startup", ["run"]),
    ],
)
def test_ctrl_c_is_quiet_while_things_are_loaded(
    module: str, args: list[str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module, *args],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "OSHABERI_DATA_DIR": str(tmp_path)},
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.parametrize(
    ("variables", "colours"), [({"NO_COLOR": "1"}, False), ({"TERM": "xterm"}, True)]
)
def test_on_a_terminal_there_is_a_hint_and_rules(variables: dict[str, str], colours: bool) -> None:
    ours, theirs = pty.openpty()
    plain = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    with subprocess.Popen(
        [*OSHABERI, "chunk"],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**plain, **variables},
    ) as process:
        assert process.stderr is not None
        os.write(ours, b"one\ntwo\n\x04")
        assert b"Ctrl-D" in process.stderr.read()
        shown = os.read(ours, 4096).decode()
    os.close(theirs)
    os.close(ours)
    assert process.returncode == 0
    assert [part in shown for part in ("── 1 ──", "── 2 ──", "---8<---")] == [True, True, False]
    assert ("\x1b[" in shown) == colours


CLOSED = "import os, sys; os.close(int(sys.argv[1])); os.execv(sys.executable, sys.argv[2:])"


@pytest.mark.parametrize(
    ("closed", "args", "status", "told"),
    [
        ("0", ["chunk"], 2, "standard input is closed; give a FILE"),
        ("0", ["replay", "-"], 2, "standard input is closed; give a file"),
        ("1", ["chunk", __file__], 0, ""),
        ("2", ["chunk", "none.md"], 2, ""),
    ],
)
def test_closed_streams(closed: str, args: list[str], status: int, told: str) -> None:
    command = [sys.executable, "-c", CLOSED, closed, *OSHABERI, *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr == (f"oshaberi: {told}\n" if told else "")


LIGHT = """
import sys
from oshaberi.cli import main
assert main(sys.argv[1:]) == 0
print(*sys.modules, file=sys.stderr)
"""


OF_THE_BOT = {"pydantic", "sqlalchemy", "alembic", "discord", "aiohttp"}
OF_THE_BOT |= {"oshaberi.bot.turns", "oshaberi.bot.config.loading"}


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
    assert modules & {"PIL", "emoji", "oshaberi.render.drawing", *OF_THE_BOT} == set()
    assert "PIL" in imported_by("replay", str(SCENES / "table.json"))


# -- in this process: status and line ------------------------------------------------------------


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    told = f"oshaberi {__version__} (text engine: {build_name()})\n"
    assert capsys.readouterr().out == told


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
    (["qqqq"], "no such command 'qqqq'; there are run, init, chunk"),
    (["--qqq"], "No such option"),
    (["chunk", "--degree", "9"], "(see oshaberi chunk --help)"),
    (["chunk", "--set", "hold_limit=9"], "hold_limit: 9 is not a whole number from 50 to 4000"),
    (["chunk", "none.md"], "none.md: cannot be read: No such file or directory"),
    (["chunk", "a\0b"], "cannot be read"),
    (["replay"], "Missing argument 'SCENE...'"),
    (["replay", "none.json"], "none.json: cannot be read: No such file or directory"),
    (["replay", "--check", "--json", "x"], "--json and --check cannot be used together"),
    (["replay", "--rechunk", "x", "y"], "'x' is not a valid integer"),
    (["explain", "none.json"], "none.json: cannot be read"),
    (["run", "--speed", "0"], "0.1<=x<=100"),
    (["run", "--debug"], "write --debug before the command: oshaberi --debug …"),
    (["replay", "--", "--debug"], "--debug: cannot be read: No such file"),
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


def test_a_ctrl_c_in_disguise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python 3.11 makes a RuntimeError of one that comes while a class is made."""
    from oshaberi.cli.commands import chunk

    def interrupted(*_args: object) -> None:
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr(chunk, "text_config", interrupted)
    assert cli.main(["chunk", "-"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_fault_of_ours_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from oshaberi.cli.commands import chunk

    def broken(*_args: object) -> None:
        raise RuntimeError("oh no")

    monkeypatch.setattr(chunk, "text_config", broken)
    assert cli.main(["chunk", "-"]) == 70
    err = capsys.readouterr().err
    where = "oshaberi --debug chunk … shows where"
    assert err == f"oshaberi: internal error: RuntimeError: oh no ({where})\n"
    assert cli.main(["--debug", "chunk", "-"]) == 70
    assert "in broken" in capsys.readouterr().err
