"""Opens the page in the browser, with a control token that outlives a restart."""

from __future__ import annotations

import html
import os
import re
import secrets
from pathlib import Path

from oshaberi.errors import ConfigError

# The control token of a data folder. It is kept, so that an open page works after a restart.


TOKEN_FILE = "stage_token"
OWNER_ONLY = 0o600
_TOKEN = re.compile(r"[\w-]{24,128}", re.ASCII)


def kept_token(folder: Path) -> str:
    """Return the folder's token, or create one that only its owner can read."""
    path = folder / TOKEN_FILE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _read(path) or _make(path)
    except OSError as error:
        raise ConfigError(
            f"data_dir: {path} cannot be used: {error.strerror}; allow it, or choose another folder"
        ) from None


def _read(path: Path) -> str | None:
    """Read the token. Return None if there is none or others could read it."""
    try:
        private = path.stat().st_mode & 0o077 == 0 or os.name == "nt"
        token = path.read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        return None
    return token if private and _TOKEN.fullmatch(token) else None


def _make(path: Path) -> str:
    token = secrets.token_urlsafe(24)
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(token + "\n")
    return token


# Writes the page that the browser is opened with. It redirects to the stage.
#
# The address contains the control token, and all users of a machine can read the command lines of
# its processes. So the browser gets the name of a file that only its owner can read.


OPENING_FILE = "open_stage.html"
_PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>Oshaberi</title>
<p><a href="{address}">Open the local stage</a></p>
"""


def opening_page(folder: Path, address: str) -> Path:
    """Write the file again, since the address changes with the port. Return its path."""
    path = folder / OPENING_FILE
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(_PAGE.format(address=html.escape(address)))
    return path
