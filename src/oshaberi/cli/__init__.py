"""The `oshaberi` command. Each command is a file of its own, imported when it is called."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> int:
    """Run a command line; returns its exit status."""
    from oshaberi.cli.app import run

    return run(sys.argv[1:] if args is None else list(args))
