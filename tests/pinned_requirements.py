"""The versions in the image. `python -m tests.pinned_requirements` writes both files anew.

deploy/requirements.txt has what is installed here, which is what the tests ran with;
deploy/build-requirements.txt has what builds the wheel. Each version has the hashes of all its
files, so every processor finds its own among them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
FILE = ROOT / "deploy" / "requirements.txt"
BUILD_FILE = ROOT / "deploy" / "build-requirements.txt"
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
HEADING = "# The versions in the image, as they were tested: make requirements writes this file.\n"
BUILD_HEADING = "# What builds the wheel of the image: make requirements writes this file.\n"
OURS = ("oshaberi", "discord-stage")
"""Built with the image, from the same checkout."""
_PIN = re.compile(r"(?m)^([a-z0-9-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$")


def image_extras() -> list[str]:
    """The extras that the Dockerfile installs."""
    [named] = re.findall(r'"oshaberi\[([\w,]+)\]"', DOCKERFILE.read_text(encoding="utf-8"))
    return str(named).split(",")


def installed_versions() -> dict[str, str]:
    """By name, of everything that these extras need here."""
    found: dict[str, str] = {}
    waiting = [Requirement(f"oshaberi[{','.join(image_extras())}]")]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        wanted = waiting.pop()
        name, extras = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue  # another platform's
        waiting += [one for one in _needs(name) if _applies(one, extras)]
    return {name: number for name, number in found.items() if name not in OURS}


def _needs(name: str) -> list[Requirement]:
    return [Requirement(one) for one in requires(name) or ()]


def _applies(one: Requirement, extras: frozenset[str]) -> bool:
    return one.marker is None or any(one.marker.evaluate({"extra": e}) for e in (*extras, ""))


def pinned(file: Path = FILE) -> dict[str, str]:
    """By name, as the file says. A line that is no version with its hashes is a mistake."""
    text = file.read_text(encoding="utf-8")
    pins = {name: number for name, number, _hashes in _PIN.findall(text)}
    left = [line for line in _PIN.sub("", text).splitlines() if line and not line.startswith("#")]
    if left:
        raise ValueError(f"{file.name}: {left[0]!r} is no version with hashes")
    return pins


def build_requirements() -> list[str]:
    """What both wheels want for being built."""
    wanted: dict[str, None] = {}
    for folder in (ROOT, ROOT / "stage"):
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        wanted |= dict.fromkeys(project["build-system"]["requires"])
    return list(wanted)


def hashed(wanted: Iterable[str], *options: str) -> str:
    """The versions that satisfy this, each with the hashes of all its files."""
    plain = ("--quiet", "--no-header", "--no-annotate", "--no-config")
    command = [sys.executable, "-m", "uv", "pip", "compile", "--generate-hashes", *plain]
    command += [*options, "--python-version", image_python(), "-"]
    done = subprocess.run(command, input="\n".join(wanted), stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit("uv could not find the hashes")
    return done.stdout


def image_python() -> str:
    """The version of Python in the image."""
    [version] = re.findall(r"(?m)^ARG PYTHON_IMAGE=python:(\d+\.\d+)", DOCKERFILE.read_text())
    return str(version)


def write() -> None:
    versions = installed_versions()
    exact = [f"{name}=={versions[name]}" for name in sorted(versions)]
    FILE.write_text(HEADING + hashed(exact, "--no-deps"), encoding="utf-8")
    BUILD_FILE.write_text(BUILD_HEADING + hashed(build_requirements()), encoding="utf-8")


if __name__ == "__main__":
    write()
