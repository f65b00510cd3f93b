"""Which tests stay together when several workers run them, and which begin.

What a folder or a file shares (a browser, a running bot, a server) is started once. Tests that wait
for browsers, servers and clocks begin; those that only compute fill the gaps at the end.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from xdist.scheduler import LoadScopeScheduling

WHOLE_FOLDERS = ("tests/local_run_page", "tests/stage_page")
"""One browser each, and one `oshaberi run`."""
FIRST = tuple(
    f"tests/{name}"
    for name in "local_run_page stage_page storage e2e bot turns tools stage discord_io cli "
    "local_run render providers".split()
)


class WorkUnits(LoadScopeScheduling):
    """Hands out whole files and a few whole folders, in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


def unit_of(nodeid: str) -> str:
    file = nodeid.partition("::")[0]
    return next((one for one in WHOLE_FOLDERS if file.startswith(f"{one}/")), file)


def rank(nodeid: str) -> int:
    """The lower, the earlier."""
    folders = {str(one) for one in PurePosixPath(nodeid.partition("::")[0]).parents}
    return next((place for place, one in enumerate(FIRST) if one in folders), len(FIRST))
