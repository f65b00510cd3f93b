"""Settings that had another name in an earlier release.

If you use an old name, an error tells you the new one. Values that a server's admins stored under
an old name still apply. A test compares the settings of each release with this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RENAMED: dict[str, str] = {}
"""The new name by the old one. No release has renamed a setting so far."""


def with_new_names(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by their present names. A value under its present name wins."""
    moved = {RENAMED[key]: value for key, value in stored.items() if key in RENAMED}
    return {**moved, **{key: value for key, value in stored.items() if key not in RENAMED}}
