"""`pytest --workers 2`: pytest-xdist runs the tests, and what shares something stays together."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONFTEST = 'pytest_plugins = ["tests.session_hooks"]'
TESTS = """
import os
from pathlib import Path

def test_first(): Path("ran").open("a").write(f"{NAME} {os.environ['PYTEST_XDIST_WORKER']}\\n")
def test_second(): test_first()
def test_third(): test_first()
"""


def test_each_file_stays_in_one_worker(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name in ("a", "b", "c"):
        (tmp_path / f"test_{name}.py").write_text(f'NAME = "{name}"\n{TESTS}')
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull),
            *("--rootdir", ".", "--workers", "2", "."),
        ],
        cwd=tmp_path,
        env={**_without_xdist(), "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "9 passed" in done.stdout, done.stdout + done.stderr
    ran = [line.split() for line in (tmp_path / "ran").read_text().splitlines()]
    assert len({tuple(one) for one in ran}) == 3, ran
    assert {worker for _, worker in ran} == {"gw0", "gw1"}


def _without_xdist() -> dict[str, str]:
    """This test may run in a worker itself."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_XDIST")}
