"""The formats of texts in a request: URLs and times."""

from __future__ import annotations

import re
from datetime import datetime
from urllib.parse import urlsplit

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s<>\"{}|\\^`]+")


def is_uri(text: str) -> bool:
    """Tell whether a text is an absolute URL with something after its scheme."""
    if not _URI.fullmatch(text):
        return False
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    return bool(parts.netloc or parts.path.strip("/"))


def is_date_time(text: str) -> bool:
    """Tell whether a text is ISO 8601 with a date and a time."""
    if len(text) < len("2015-01-01T00:00") or text[10] not in "Tt ":
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
