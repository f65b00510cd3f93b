"""`pytest --workers 2`: what becomes of tests in other processes is told as if they ran here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONFTEST = """
import os, pathlib
from tests.session_hooks import pytest_addoption, pytest_runtestloop

def pytest_sessionfinish():
    pathlib.Path(f"finished-{os.getpid()}").touch()
"""
FIRST = """
import pytest

@pytest.fixture
def broken():
    yield
    raise RuntimeError("in the teardown")

def test_good(tmp_path): (tmp_path / "file").touch()
def test_bad(): print("what it said"); assert [1, 2] == [1, 3]
@pytest.mark.skip(reason="on purpose")
def test_skipped(): pass
def test_teardown(broken): pass
"""
SECOND = """
import os

def test_before(): pass
def test_crash(): os._exit(0)
def test_behind(): pass
"""
THIRD = "def test_third(): pass"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in (
        ("conftest.py", CONFTEST),
        ("test_1.py", FIRST),
        ("test_2.py", SECOND),
        ("test_3.py", THIRD),
    ):
        (tmp_path / name).write_text(content)
    return tmp_path


def told(folder: Path, *arguments: str) -> str:
    """What pytest says in there, where it has to fail."""
    options = ("-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".", "--workers", "2")
    environ = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (1, "")
    return done.stdout


def test_everything_is_told_also_of_a_process_that_crashed(folder: Path) -> None:
    said = told(folder, "-ra")
    for line in (
        "FAILED test_1.py::test_bad - assert [1, 2] == [1, 3]",
        "At index 1 diff: 2 != 3",
        "what it said",
        "SKIPPED [1] test_1.py:11: on purpose",
        "ERROR test_1.py::test_teardown - RuntimeError: in the teardown",
        "FAILED test_2.py::test_crash - its process ended",
        "FAILED test_2.py::test_behind - not run: the process of its file ended before",
    ):
        assert line in said
    assert "3 failed, 4 passed, 1 skipped, 1 error" in said
    assert len(list(folder.glob("finished-*"))) == 2, "this process and the worker that is left"


def test_the_first_failure_ends_all(folder: Path) -> None:
    said = told(folder, "-x", "test_1.py", "test_3.py")
    assert "stopping after 1 failures" in said
    assert "1 failed" in said
    assert "in the teardown" not in said
