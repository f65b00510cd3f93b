"""How much `pip install "oshaberi[bot]"` puts on the disk, package by package."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bench.report import aligned_table
from bench.whole_bot.goals import Goal

LIMIT_MB = 120.0
SHOWN = 12
SOURCE = Path(__file__).parents[2] / "src" / "oshaberi"


@dataclass(frozen=True, slots=True)
class InstalledPackage:
    name: str
    mb: float


def installed_packages(
    name: str = "oshaberi", extras: Iterable[str] = ("bot",)
) -> list[InstalledPackage]:
    """Return a distribution and all that it needs, the largest first."""
    found: dict[str, Distribution] = {}
    _collect(Requirement(f"{name}[{','.join(extras)}]"), found, set())
    sizes = [InstalledPackage(one, _mb(dist)) for one, dist in found.items()]
    return sorted(sizes, key=lambda one: one.mb, reverse=True)


def _collect(
    wanted: Requirement, found: dict[str, Distribution], seen: set[tuple[str, str]]
) -> None:
    name = canonicalize_name(wanted.name)
    extras = sorted(wanted.extras) or [""]
    for extra in ["", *extras]:
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue  # for another platform, or not installed: nothing on this disk
        for text in found[name].requires or ():
            needed = Requirement(text)
            if _applies(needed.marker, extra):
                _collect(needed, found, seen)


def _applies(marker: Marker | None, extra: str) -> bool:
    return marker is None or marker.evaluate({"extra": extra})


def _mb(dist: Distribution) -> float:
    """Return what the files take, with their bytecode as pip compiles it."""
    if canonicalize_name(dist.name) == "oshaberi":  # an editable install has no files
        return sum(_with_bytecode(path) for path in _files(SOURCE)) / 1e6
    places = {Path(str(dist.locate_file(file))) for file in dist.files or ()}
    real = [path for path in places if path.suffix != ".pyc" and path.is_file()]
    return sum(_with_bytecode(path) for path in real) / 1e6


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]


def _with_bytecode(path: Path) -> int:
    """A module's bytecode is about as large as its source."""
    size = path.stat().st_size
    if path.suffix != ".py":
        return size
    compiled = list((path.parent / "__pycache__").glob(f"{path.stem}.cpython-*.pyc"))
    own = [one for one in compiled if one.name.count(".") == 2]
    return size + (own[0].stat().st_size if own else size)


def size_table(found: list[InstalledPackage]) -> str:
    rows = [[one.name, f"{one.mb:.1f}"] for one in found[:SHOWN]]
    rest = found[SHOWN:]
    rows.append([f"{len(rest)} others", f"{sum(one.mb for one in rest):.1f}"])
    title = f'Installed with "oshaberi[bot]": {len(found)} packages, {total_mb(found):.0f} MB'
    return aligned_table(title, ["package", "MB"], rows)


def total_mb(found: list[InstalledPackage]) -> float:
    return sum(one.mb for one in found)


def size_goal(found: list[InstalledPackage]) -> Goal:
    return Goal('installed, "oshaberi[bot]"', total_mb(found), LIMIT_MB, "MB")
