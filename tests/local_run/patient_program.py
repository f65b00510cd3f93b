"""`python -m tests.local_run.patient_program run …`: `oshaberi`, which never joins waiting lines.

Lines are joined when a message took longer than a second to send. On a busy machine that happens
by chance, and a test could not say how many messages an answer has.
"""

from __future__ import annotations

import sys

from oshaberi.cli import main
from oshaberi.delivery import rate_limit_waits

if __name__ == "__main__":
    rate_limit_waits.JOIN_FROM = sys.maxsize
    sys.exit(main())
