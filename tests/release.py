"""`make release`: builds sdist and wheel, and checks both in fresh environments.

The wheel is built from the sdist. Each is installed into an environment of its own and tried from
an empty folder, so that nothing of the checkout can help.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
EXTRAS = "bot,images,mcp,openai,tables"
DATED = re.compile(r"^## (\d+\.\d+\.\d+) - \d{4}-\d{2}-\d{2}$", re.MULTILINE)
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\?token=\S+")
START_S = 60


class ReleaseError(Exception):
    """Something is wrong with what was built. Says what in one line."""


def main() -> int:
    version = _version()
    with tempfile.TemporaryDirectory(prefix="oshaberi-release-") as scratch:
        try:
            check_changelog(version)
            sdist, wheel = _built(version, Path(scratch))
            _check_sdist(sdist, Path(scratch) / "sdist", version)
            _check_wheel(wheel, Path(scratch) / "wheel", version)
        except ReleaseError as error:
            sys.stderr.write(f"release: {error}\n")
            return 2
    sys.stdout.write(f"{sdist.relative_to(ROOT)} and {wheel.relative_to(ROOT)} are good\n")
    return 0


def _version() -> str:
    source = (ROOT / "src" / "oshaberi" / "__init__.py").read_text(encoding="utf-8")
    [version] = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    return str(version)


def check_changelog(version: str) -> None:
    dated = DATED.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    if version not in dated:
        raise ReleaseError(f"CHANGELOG.md has no heading '## {version} - YYYY-MM-DD'")


def _built(version: str, scratch: Path) -> tuple[Path, Path]:
    builder = _environment(scratch / "builder")
    _run(builder, "-m", "pip", "install", "--quiet", "build")
    shutil.rmtree(DIST, ignore_errors=True)
    _run(builder, "-m", "build", "--outdir", str(DIST), str(ROOT))
    sdist = DIST / f"oshaberi-{version}.tar.gz"
    wheel = DIST / f"oshaberi-{version}-py3-none-any.whl"
    built = sorted(path.name for path in DIST.iterdir() if path.name != ".gitignore")
    if built != sorted((sdist.name, wheel.name)):
        raise ReleaseError(f"dist/ holds {', '.join(built)}, not {sdist.name} and {wheel.name}")
    return sdist, wheel


def _check_sdist(sdist: Path, folder: Path, version: str) -> None:
    """Without extras: the command line and the text engine."""
    python = _environment(folder)
    _run(python, "-m", "pip", "install", "--quiet", str(sdist))
    _check_commands(python, folder, version)


def _check_wheel(wheel: Path, folder: Path, version: str) -> None:
    """With extras: the whole bot on the local stage, its page included."""
    python = _environment(folder)
    _run(python, "-m", "pip", "install", "--quiet", f"{wheel}[{EXTRAS}]")
    _check_commands(python, folder, version)
    _check_stage(python, folder)


def _check_commands(python: Path, folder: Path, version: str) -> None:
    empty = folder / "empty"
    empty.mkdir()
    said = _run(python, "-m", "oshaberi", "--version", cwd=empty)
    if said != f"oshaberi {version} (text engine: pure Python)\n":
        raise ReleaseError(f"--version prints {said!r}")
    given = "<think>hm</think>One (still\nthe same).\nTwo :tada:\n"
    said = _run(python, "-m", "oshaberi", "chunk", cwd=empty, given=given)
    if said != "One (still\nthe same).\n---8<---\nTwo 🎉\n":
        raise ReleaseError(f"chunk prints {said!r}")


def _check_stage(python: Path, folder: Path) -> None:
    """`oshaberi run` starts, its page is served, and Ctrl-C ends it with status 0."""
    command = [str(python), "-m", "oshaberi", "run", "--port", "0", "--no-browser"]
    environ = {**_environ(), "OSHABERI_DATA_DIR": str(folder / "data")}
    with (folder / "run.log").open("w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            command,
            cwd=folder / "empty",
            env=environ,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            page = _fetched(_address(process))
            process.send_signal(signal.SIGINT)
            status = process.wait(START_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        log.seek(0)
        told = log.read().strip()
    if status != 0 or "<title>" not in page:
        raise ReleaseError(f"oshaberi run ended with {status}: {told or 'no message'}")


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        found = ADDRESS.search(line)
        if found:
            return found[0]
    raise ReleaseError(f"oshaberi run ended with {process.wait()} before it printed an address")


def _fetched(address: str) -> str:
    with urllib.request.urlopen(address, timeout=START_S) as answer:
        return str(answer.read().decode("utf-8"))


def _environment(folder: Path) -> Path:
    """A fresh virtual environment; returns its Python."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def _environ() -> dict[str, str]:
    """Without what would let the checkout, or the settings of whoever runs this, take part."""
    ours = ("OSHABERI_", "PYTHON")
    return {key: value for key, value in os.environ.items() if not key.startswith(ours)}


def _run(python: Path, *arguments: str, cwd: Path | None = None, given: str | None = None) -> str:
    command: Sequence[str] = [str(python), *arguments]
    sys.stderr.write(f"$ python {' '.join(arguments)}\n")
    done = subprocess.run(
        command, cwd=cwd, env=_environ(), input=given, stdout=subprocess.PIPE, text=True
    )
    if done.returncode:
        raise ReleaseError(f"{' '.join(arguments)} ended with {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
