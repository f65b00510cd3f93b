"""Programs of others that read and write character cards: `aichar` (Python) and a Node library.

Neither is a dependency; a test that needs one is skipped where it is not installed. CARD_READERS
names the folder into which npm installed the one for Node. With REQUIRE_CARD_READERS=1 both must be
there, as in CI.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
READER = "@lenml/char-card-reader@1.1.1"


def aichar() -> Any:
    """The Python module, which reads and writes `chara`."""
    if os.environ.get("REQUIRE_CARD_READERS"):
        return importlib.import_module("aichar")
    return pytest.importorskip("aichar", reason="needs: pip install aichar==1.0.5")


def _installed_reader() -> Path | None:
    """The folder whose `node_modules` has the npm package: that of CARD_READERS, or above here."""
    named = os.environ.get("CARD_READERS")
    folders = [Path(named)] if named else list(FOLDER.parents)
    package = READER.rpartition("@")[0]
    return next((one for one in folders if (one / "node_modules" / package).is_dir()), None)


def read_with_node(name: str, content: bytes, folder: Path) -> dict[str, Any]:
    """Read a card with the npm package. Node looks for it from where the program lies."""
    node, installed = shutil.which("node"), _installed_reader()
    if node is None or installed is None:
        if os.environ.get("REQUIRE_CARD_READERS"):
            pytest.fail(f"needs node, and npm install --prefix FOLDER {READER}")
        pytest.skip(f"needs node, npm install --prefix FOLDER {READER}, and CARD_READERS=FOLDER")
    program, file = folder / "read_card.mjs", folder / name
    program.write_bytes((FOLDER / "read_card.mjs").read_bytes())
    modules = folder / "node_modules"
    if not modules.exists():
        modules.symlink_to(installed / "node_modules", target_is_directory=True)
    file.write_bytes(content)
    done = subprocess.run(
        [node, str(program), str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found
