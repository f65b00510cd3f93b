"""The wheel: pure Python unless it is asked to be compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from oshaberi import __version__
from oshaberi.cli.engine_build import build_name, is_compiled
from oshaberi.text import engine
from tests.compiled_build import ROOT, compiled_site, environ_of, version_of

WITHOUT_COMPILER = {"CC": "/nowhere/cc", "PATH": "/nowhere"}


def built(folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(folder)]
    return subprocess.run(
        [*command, str(ROOT)], env={**os.environ, **environ}, capture_output=True, text=True
    )


def test_the_name_of_the_build_is_that_of_the_loaded_module() -> None:
    assert is_compiled() == (not str(engine.__file__).endswith(".py"))
    assert build_name() == ("compiled" if is_compiled() else "pure Python")


@pytest.mark.slow
def test_without_a_compiler_the_wheel_is_pure(tmp_path: Path) -> None:
    done = built(tmp_path, **WITHOUT_COMPILER)
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.iterdir()
    assert wheel.name == f"oshaberi-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "oshaberi/text/engine.py" in names
    assert [name for name in names if name.endswith((".so", ".pyd"))] == []


@pytest.mark.slow
def test_a_compiled_wheel_without_a_compiler_is_refused_in_one_line(tmp_path: Path) -> None:
    done = built(tmp_path, **WITHOUT_COMPILER, COMPILE_OSHABERI="1")
    assert done.returncode != 0
    assert list(tmp_path.iterdir()) == []
    said = done.stdout + done.stderr
    assert "the text engine cannot be compiled" in said
    assert "without COMPILE_OSHABERI the wheel is pure Python" in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_compiled_wheel_has_both_and_runs_compiled() -> None:
    site = compiled_site()
    made = {path.name.partition(".")[0] for path in (site / "oshaberi" / "text").rglob("*.so")}
    pure = {path.stem for path in (site / "oshaberi" / "text").rglob("*.py")}
    assert pure - made == {"__init__", "mypyc_attributes", "config"}
    assert version_of(site) == f"oshaberi {__version__} (text engine: compiled)"
    assert (site / f"oshaberi-{__version__}.dist-info" / "WHEEL").read_text().count("none-any") == 0


@pytest.mark.slow
def test_the_compiled_engine_speaks_as_the_pure_one() -> None:
    command = [sys.executable, "-m", "oshaberi", "chunk"]
    given = "<think>hm</think>One (still\nthe same).\nTwo :tada:\n"
    done = subprocess.run(
        command, env=environ_of(compiled_site()), input=given, capture_output=True, text=True
    )
    assert done.stdout == "One (still\nthe same).\n---8<---\nTwo 🎉\n"
