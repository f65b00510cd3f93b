"""Writes the page that the browser is opened with. It redirects to the stage.

The address contains the control token, and all users of a machine can read the command lines of its
processes. So the browser gets the name of a file that only its owner can read.
"""

from __future__ import annotations

import html
import os
from pathlib import Path

from oshaberi.local_run.control_token import OWNER_ONLY

FILE = "open_stage.html"
_PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>Oshaberi</title>
<p><a href="{address}">Open the local stage</a></p>
"""


def opening_page(folder: Path, address: str) -> Path:
    """Write the file again, since the address changes with the port. Return its path."""
    path = folder / FILE
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(_PAGE.format(address=html.escape(address)))
    return path
