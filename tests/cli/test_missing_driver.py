"""A PostgreSQL URL without its driver: every command says in one line what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.local_run.local_run_process import environment

URL = "postgresql://bot:hunter2@127.0.0.1:9/oshaberi"
WITHOUT_DRIVER = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "asyncpg":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from oshaberi.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "command", [("doctor",), ("db", "upgrade"), ("run", "--no-browser", "--port", "0")]
)
def test_it_says_which_extra_to_install(command: tuple[str, ...], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DRIVER, *command],
        cwd=tmp_path,
        env=environment(tmp_path / "data", OSHABERI_DATABASE_URL=URL),
        capture_output=True,
        text=True,
        timeout=60,
    )
    said = [
        line for line in (done.stdout + done.stderr).splitlines() if "oshaberi[postgres]" in line
    ]
    assert len(said) == 1
    assert "PostgreSQL needs asyncpg" in said[0]
    assert "internal error" not in done.stdout + done.stderr
    assert "hunter2" not in done.stdout + done.stderr
    assert done.returncode == {"doctor": 1, "db": 2, "run": 78}[command[0]]
