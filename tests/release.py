"""`make release`: builds sdists and wheels of oshaberi and of the stage, and checks all of them.

A wheel is built from its sdist. Each is installed into a fresh environment and tried from an empty
folder, so that nothing of the checkout can help.
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
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
STAGE = ROOT / "stage"
DIST = ROOT / "dist"
EXTRAS = "bot,images,local,mcp,openai,tables"
DATED = re.compile(r"^## (\d+\.\d+\.\d+) - \d{4}-\d{2}-\d{2}$", re.MULTILINE)
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\?token=\S+")
START_S = 60
SERVED = """
import asyncio, aiohttp, discord_stage
async def main():
    async with discord_stage.Stage() as stage, aiohttp.ClientSession() as session:
        for path in ("/", "/page/js/main.js"):
            async with session.get(stage.url + path) as answer:
                text = await answer.text()
                print(answer.status, "<title>" in text, "$module" in text)
asyncio.run(main())
"""
"""Whether the page and the script that is made of its modules are served."""


class ReleaseError(Exception):
    """Something is wrong with what was built. Says what in one line."""


@dataclass(frozen=True, slots=True)
class BuiltFiles:
    """What is published of one distribution."""

    version: str
    sdist: Path
    wheel: Path


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="oshaberi-release-") as scratch:
        try:
            oshaberi, stage = _built(Path(scratch) / "builder")
            _check_stage_alone(stage.sdist, Path(scratch) / "stage-sdist")
            _check_stage_alone(stage.wheel, Path(scratch) / "stage-wheel")
            _check_sdist(oshaberi, Path(scratch) / "sdist")
            _check_wheels(oshaberi, stage, Path(scratch) / "wheel")
        except ReleaseError as error:
            sys.stderr.write(f"release: {error}\n")
            return 2
    files = (oshaberi.sdist, oshaberi.wheel, stage.sdist, stage.wheel)
    sys.stdout.write(f"{', '.join(str(one.relative_to(ROOT)) for one in files)} are good\n")
    return 0


def _version(package: Path) -> str:
    source = (package / "__init__.py").read_text(encoding="utf-8")
    [version] = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    return str(version)


def check_changelog(version: str, folder: Path = ROOT) -> None:
    file = folder / "CHANGELOG.md"
    if version not in DATED.findall(file.read_text(encoding="utf-8")):
        name = file.relative_to(ROOT)
        raise ReleaseError(f"{name} has no heading '## {version} - YYYY-MM-DD'")


def _built(folder: Path) -> tuple[BuiltFiles, BuiltFiles]:
    builder = _environment(folder)
    _run(builder, "-m", "pip", "install", "--quiet", "build")
    shutil.rmtree(DIST, ignore_errors=True)
    oshaberi = _built_from(builder, ROOT, "oshaberi")
    stage = _built_from(builder, STAGE, "discord_stage")
    expected = {one.name for files in (oshaberi, stage) for one in (files.sdist, files.wheel)}
    built = {path.name for path in DIST.iterdir() if path.name != ".gitignore"}
    if built != expected:
        raise ReleaseError(f"dist/ holds {sorted(built)}, not {sorted(expected)}")
    return oshaberi, stage


def _built_from(builder: Path, folder: Path, package: str) -> BuiltFiles:
    version = _version(folder / "src" / package)
    check_changelog(version, folder)
    _run(builder, "-m", "build", "--outdir", str(DIST), str(folder))
    stem = DIST / f"{package}-{version}"
    return BuiltFiles(version, Path(f"{stem}.tar.gz"), Path(f"{stem}-py3-none-any.whl"))


def _check_stage_alone(file: Path, folder: Path) -> None:
    """The stage without oshaberi: its README's bot passes its tests, and its page is served."""
    python = _environment(folder)
    _run(python, "-m", "pip", "install", "--quiet", str(file))
    empty = folder / "empty"
    empty.mkdir()
    said = _run(python, "-c", SERVED, cwd=empty)
    if said != "200 True False\n200 False True\n":
        raise ReleaseError(f"the page of {file.name} is not served: {said!r}")
    _run(python, "-m", "pip", "install", "--quiet", f"{file}[discord]", "pytest")
    bot, tests = re.findall(r"```python\n(.*?)```", _read(STAGE / "README.md"), re.DOTALL)[:2]
    (empty / "bot.py").write_text(bot, encoding="utf-8")
    (empty / "test_bot.py").write_text(tests, encoding="utf-8")
    said = _run(python, "-m", "pytest", "-q", "test_bot.py", cwd=empty)
    if "2 passed" not in said:
        raise ReleaseError(f"the example of {file.name} says {said!r}")


def _check_sdist(built: BuiltFiles, folder: Path) -> None:
    """Without extras: the command line and the text engine."""
    python = _environment(folder)
    _run(python, "-m", "pip", "install", "--quiet", str(built.sdist))
    _check_commands(python, folder, built.version)


def _check_wheels(built: BuiltFiles, stage: BuiltFiles, folder: Path) -> None:
    """With extras: the whole bot on the local stage, its page included."""
    python = _environment(folder)
    _run(python, "-m", "pip", "install", "--quiet", str(stage.wheel), f"{built.wheel}[{EXTRAS}]")
    _check_commands(python, folder, built.version)
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


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


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
