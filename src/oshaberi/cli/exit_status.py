"""Exit statuses, and which error leads to which (see docs/decisions/0014).

Service managers start `run`, and decide by its status whether to start it again. People type the
other commands: for them bad input is always 2.
"""

from __future__ import annotations

from oshaberi.cli import SERVICE
from oshaberi.errors import OshaberiError, TemporaryError

BAD_INPUT = 2
INTERNAL_ERROR = 70
TEMPORARY = 75
"""EX_TEMPFAIL: the problem may go away by itself."""
CONFIGURATION = 78
"""EX_CONFIG: the problem stays until somebody changes something."""
BROKEN_PIPE = 141


def status_of(error: OshaberiError | OSError, command: str) -> int:
    """Return the exit status of a command that ends with this error."""
    if command != SERVICE:
        return BAD_INPUT
    if isinstance(error, OSError):
        settled = isinstance(error, PermissionError | FileNotFoundError | NotADirectoryError)
        return CONFIGURATION if settled else TEMPORARY
    return TEMPORARY if isinstance(error, TemporaryError) else CONFIGURATION
