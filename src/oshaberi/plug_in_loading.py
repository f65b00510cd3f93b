"""Loads plug-ins: functions of other packages, found by entry point.

If a plug-in cannot be loaded, the log has one line with its name. It never stops the bot.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any

log = logging.getLogger(__name__)


def load_plug_ins(group: str) -> dict[str, Callable[..., Any]]:
    """Return the plug-ins of a group by name, in alphabetical order."""
    points = sorted(installed_entry_points(group), key=lambda point: point.name)
    loaded = {point.name: _loaded(point) for point in points}
    return {name: made for name, made in loaded.items() if made is not None}


def installed_entry_points(group: str) -> EntryPoints:
    """Return the entry points of all packages. It reads many files, so only once per path."""
    return _entry_points(group, tuple(sys.path))


@lru_cache(maxsize=16)
def _entry_points(group: str, _path: tuple[str, ...]) -> EntryPoints:
    return entry_points(group=group)


def plug_in_error(group: str, name: str, error: BaseException) -> str:
    """Return the line that is logged for a plug-in that failed."""
    why = " ".join(f"{type(error).__name__}: {error}".split())
    return f"the plug-in {name!r} of {group} failed and is left out: {why}"


def _loaded(point: EntryPoint) -> Callable[..., Any] | None:
    try:
        made = point.load()
        if not callable(made):
            raise TypeError(f"{point.value} cannot be called")
    except (Exception, SystemExit) as error:
        # Any code may run there, so anything may be raised; only the operator may end the bot.
        log.error("%s", plug_in_error(point.group, point.name, error))
        return None
    return made  # type: ignore[no-any-return]
