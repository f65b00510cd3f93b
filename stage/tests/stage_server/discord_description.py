"""Discord's own description of its API, where it is at hand: it is not part of the project.

It is looked for beside the project (`../shared/facts/discord-openapi.json`), or where the variable
`DISCORD_OPENAPI` says. Tests that need it are skipped elsewhere.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

BESIDE = Path(__file__).parents[4] / "shared" / "facts" / "discord-openapi.json"
FILE = Path(os.environ.get("DISCORD_OPENAPI", BESIDE))

needs_description = pytest.mark.skipif(
    not FILE.is_file(), reason=f"Discord's description of its API is not at {FILE}"
)


@cache
def description() -> dict[str, Any]:
    return dict(json.loads(FILE.read_text(encoding="utf-8")))
