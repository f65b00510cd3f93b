"""Which tests stay together when several workers run them, and which begin.

What a folder or a file shares (a browser, a running bot, a server) is started once. Tests that wait
for browsers, servers and clocks begin; those that only compute fill the gaps at the end.
"""

from __future__ import annotations

from functools import cache
from pathlib import PurePosixPath

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

WHOLE_FOLDERS = ("tests/local_run_page", "tests/providers", "tests/stage_page")
"""One browser each, one `oshaberi run`, and the SDKs of all providers loaded once."""
WAITING: tuple[str, ...] = (
    "local_run_page",
    "stage_page",
    "status_page",
    "providers",
    "storage",
    "e2e",
    "bot",
    "turns",
    "tools",
    "stage",
)
WAITING += ("discord_io", "cli", "local_run", "render")
FIRST = tuple(f"tests/{folder}" for folder in WAITING)


class WorkUnits(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out whole files and a few whole folders, in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


def unit_of(nodeid: str) -> str:
    file = nodeid.partition("::")[0]
    return next((one for one in WHOLE_FOLDERS if file.startswith(f"{one}/")), file)


def rank(nodeid: str) -> int:
    """The lower, the earlier."""
    return _rank_of_file(nodeid.partition("::")[0])


@cache
def _rank_of_file(file: str) -> int:
    folders = {str(one) for one in PurePosixPath(file).parents}
    return next((place for place, one in enumerate(FIRST) if one in folders), len(FIRST))
