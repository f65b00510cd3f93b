"""The versions in deploy/requirements.txt. `python -m tests.pinned_requirements` writes the file
anew: what is installed here, which is what the tests ran with.

No hashes: those of one machine's wheels would refuse every other processor.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
FILE = ROOT / "deploy" / "requirements.txt"
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
HEADING = (
    "# The versions in the image, as they were tested: make requirements writes this file anew.\n"
)


def image_extras() -> list[str]:
    """The extras that the Dockerfile installs."""
    [named] = re.findall(r'"\.\[([\w,]+)\]"', DOCKERFILE.read_text(encoding="utf-8"))
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
    del found["oshaberi"]
    return found


def _needs(name: str) -> list[Requirement]:
    return [Requirement(one) for one in requires(name) or ()]


def _applies(one: Requirement, extras: frozenset[str]) -> bool:
    return one.marker is None or any(one.marker.evaluate({"extra": e}) for e in (*extras, ""))


def pinned() -> dict[str, str]:
    """By name, as the file says."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    pins = (line.partition("==") for line in lines if not line.startswith("#"))
    return {name: number for name, _, number in pins}


def write() -> None:
    versions = installed_versions()
    lines = [f"{name}=={versions[name]}\n" for name in sorted(versions)]
    FILE.write_text(HEADING + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write()
