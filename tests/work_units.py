"""Which tests stay together when several workers run them, and which begin.

What a folder or a file shares (a browser, a running bot, a server) is started once. Tests that wait
for servers and clocks alternate with those that only compute.
"""

from __future__ import annotations

from collections.abc import Iterable

WHOLE_FOLDERS = (
    *("tests/local_run_page", "stage/tests/stage_page"),
    *("tests/providers", "tests/real_servers"),
)
"""One browser each, one `oshaberi run`, the SDKs of all providers and the model servers once."""
FIRST = (
    *("tests/real_servers", "tests/local_run_page", "stage/tests/stage_page"),
    *("tests/status_page", "tests/providers"),
    *("tests/e2e/test_outages.py", "tests/turns/test_database_outages.py"),
)
"""The longest units, which must not be the last to begin."""
WAITING = (
    "stage/tests",
    *(
        f"tests/{folder}"
        for folder in (
            *("storage", "e2e", "bot", "turns", "tools"),
            *("discord_io", "cli", "local_run", "render"),
        )
    ),
)


def unit_of(nodeid: str) -> str:
    """Return what a worker takes as a whole: a file, or one of a few folders."""
    file = nodeid.partition("::")[0]
    return next((one for one in WHOLE_FOLDERS if file.startswith(f"{one}/")), file)


def order_of_units(nodeids: Iterable[str]) -> dict[str, float]:
    """Where each unit comes: the longest first, then those that wait and those that compute.

    The two are mixed evenly, so that while some workers wait, others use the processors.
    """
    units = list(dict.fromkeys(map(unit_of, nodeids)))
    long = [unit for unit in units if _is_below(unit, FIRST)]
    others = [unit for unit in units if unit not in set(long)]
    waiting = [unit for unit in others if _is_below(unit, WAITING)]
    computing = [unit for unit in others if not _is_below(unit, WAITING)]
    long.sort(key=lambda unit: next(at for at, one in enumerate(FIRST) if _is_below(unit, [one])))
    places = {unit: float(at - len(long)) for at, unit in enumerate(long)}
    for group in (waiting, computing):
        places |= {unit: at / len(group) for at, unit in enumerate(group)}
    return places


def _is_below(unit: str, folders: Iterable[str]) -> bool:
    return any(unit == folder or unit.startswith(f"{folder}/") for folder in folders)
