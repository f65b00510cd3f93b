"""Makes a failing text small: by lines, then by characters, as long as it still fails."""

from __future__ import annotations

from collections.abc import Callable

_PATIENCE = 1500


def shrink(text: str, fails: Callable[[str], bool]) -> str:
    """A smaller text for which `fails` is still true."""
    tries = _PATIENCE
    for split in (_by_line, list):
        parts = split(text)
        size = max(1, len(parts) // 2)
        while size and tries > 0:
            at = 0
            while at < len(parts) and tries > 0:
                fewer = parts[:at] + parts[at + size :]
                tries -= 1
                if fails("".join(fewer)):
                    parts = fewer
                else:
                    at += size
            size //= 2
        text = "".join(parts)
    return text


def _by_line(text: str) -> list[str]:
    return text.splitlines(keepends=True)
