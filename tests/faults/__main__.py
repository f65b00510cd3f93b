"""Plays the whole fault matrix and prints it: `python -m tests.faults [--write]`."""

from __future__ import annotations

import logging
import sys

from tests.faults.fault_document import write_document
from tests.faults.fault_matrix import BROKEN, as_table, run_matrix


def main(arguments: list[str]) -> int:
    logging.disable()
    results = run_matrix()
    table = as_table(results)
    sys.stdout.write(table)
    if "--write" in arguments:
        write_document(table)
    return int(any(verdict in BROKEN for verdict in results.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
