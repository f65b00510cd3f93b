"""`python -m tests.compiled_build [PYTEST ARGUMENTS]`: tests against the compiled text engine.

Builds the compiled wheel of this checkout and unpacks it into a folder of its own below build/,
once for each state of the sources. The checkout and its environment stay pure Python.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILDS = ROOT / "build" / "compiled"
TESTED = (
    *("tests/text", "tests/laws", "tests/stream", "tests/delivery", "tests/test_scenes.py"),
    *("tests/test_recording.py", "tests/cli/test_process.py"),
)


class CompiledBuildError(Exception):
    """There is no compiled wheel. Says why in one line."""


def compiled_site() -> Path:
    """The folder with the compiled package of the sources as they are now."""
    site = BUILDS / sources_digest()
    if not site.exists():
        with tempfile.TemporaryDirectory(prefix="oshaberi-wheel-") as folder:
            wheel = compiled_wheel(Path(folder))
            shutil.rmtree(BUILDS, ignore_errors=True)
            unpacked = BUILDS / "unpacked"
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(unpacked)
        unpacked.rename(site)
    return site


def sources_digest() -> str:
    """Of all that goes into the wheel, and of the Python it is for."""
    found = hashlib.sha256(sys.version.encode())
    package = [path for path in (ROOT / "src").rglob("*") if path.is_file()]
    for path in (ROOT / "hatch_build.py", ROOT / "pyproject.toml", *sorted(package)):
        if "__pycache__" not in path.parts:
            found.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return found.hexdigest()[:16]


def compiled_wheel(folder: Path) -> Path:
    """Build it in an environment of its own, as `pip` does."""
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(folder)]
    environ = {**os.environ, "COMPILE_OSHABERI": "1"}
    done = subprocess.run([*command, str(ROOT)], env=environ, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        raise CompiledBuildError("the compiled wheel could not be built")
    [wheel] = folder.glob("oshaberi-*.whl")
    return wheel


def environ_of(site: Path) -> dict[str, str]:
    """In which `oshaberi` is the one of `site`, and tests are those of the checkout."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(site), str(ROOT)))}


def version_of(site: Path) -> str:
    """What `oshaberi --version` says there."""
    command = [sys.executable, "-m", "oshaberi", "--version"]
    return subprocess.run(
        command, cwd=ROOT, env=environ_of(site), capture_output=True, text=True, check=True
    ).stdout.strip()


def main(arguments: list[str]) -> int:
    try:
        site = compiled_site()
    except CompiledBuildError as error:
        sys.stderr.write(f"test-compiled: {error}\n")
        return 2
    said = version_of(site)
    sys.stdout.write(f"{said}\n")
    sys.stdout.flush()
    if not said.endswith("(text engine: compiled)"):
        return 2
    command = [sys.executable, "-m", "pytest", *(arguments or ["-m", "not slow"]), *TESTED]
    return subprocess.run(command, cwd=ROOT, env=environ_of(site)).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
