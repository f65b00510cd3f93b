"""The `oshaberi` command. Each of the `commands` is a file of its own, imported when it is used.

`command_group` finds the command and chooses its exit status. Commands share their `options` and
what they print (`replay_output`, `engine_build`). `doctor_checks` are those of `doctor`.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

INTERRUPTED = 130
SERVICE = "run"
"""The command that service managers start."""


def program() -> NoReturn:
    """Run the command line of this process, and end the process."""
    status = main()
    command = next((arg for arg in sys.argv[1:] if not arg.startswith("-")), None)
    if command != SERVICE:
        sys.exit(status)
    # Everything is closed. Python would still wait for threads, one of which may hang in a DNS
    # query, and show a traceback if another signal came.
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    os._exit(status)


def main(args: Sequence[str] | None = None) -> int:
    """Run a command line. Return its exit status."""
    try:
        from oshaberi.cli.command_group import run

        return run(sys.argv[1:] if args is None else list(args))
    except KeyboardInterrupt:  # before anything could be begun
        return INTERRUPTED
