"""Builds a wheel whose text engine is compiled with mypyc, if COMPILE_OSHABERI=1 is set.

With it goes what runs once per token or message around the engine.

Without it, and in every editable install, the package is pure Python. A compiled wheel contains
the Python sources as well.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SWITCH = "COMPILE_OSHABERI"
OPTIMIZATION = "MYPYC_OPT_LEVEL"
COMPILER = ["mypy>=2.4,<3", "setuptools>=77", "types-regex>=2025.1,<2028"]
QUIETLY = ("--follow-imports", "silent")
"""What the compiled modules import is not checked: the packages that it needs are not there."""
PURE = ("__init__.py", "mypyc_attributes.py", "config.py")
"""`config.py` checks values of any type, which is what compiled code cannot do faster."""


AROUND_THE_ENGINE = (
    "delivery/ledger.py",
    "delivery/outgoing_builder.py",
    "delivery/pacing.py",
    "delivery/posting.py",
    "delivery/queue.py",
    "delivery/rate_limit_waits.py",
    "delivery/typing_indicator.py",
    "delivery/waits.py",
    "stream/model_output.py",
)


class CompiledTextHook(BuildHookInterface[Any]):
    """Compiles into a temporary folder; the checkout stays as it is."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return COMPILER if is_asked_for() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not is_asked_for():
            return
        if version == "editable":
            self.app.abort(f"an editable install is always pure Python; unset {SWITCH}")
        self._folder = Path(tempfile.mkdtemp(prefix="oshaberi-compiled-"))
        try:
            compile_text(Path(self.root), self._folder)
        except (Exception, SystemExit) as error:
            self._remove()
            self.app.abort(
                f"the text engine cannot be compiled: {error} "
                f"(a C compiler is needed; without {SWITCH} the wheel is pure Python)"
            )
        for built in (self._folder / "lib").rglob("*.*"):
            name = str(built.relative_to(self._folder / "lib"))
            build_data["force_include"][str(built)] = name
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, _version: str, _build_data: dict[str, Any], _artifact: str) -> None:
        self._remove()

    def _remove(self) -> None:
        if hasattr(self, "_folder"):
            shutil.rmtree(self._folder, ignore_errors=True)


def is_asked_for() -> bool:
    return os.environ.get(SWITCH, "") not in ("", "0")


def compile_text(root: Path, folder: Path) -> None:
    """Put the extension modules of the text engine into `folder`/lib."""
    from mypyc.build import mypycify
    from setuptools import Distribution

    package = root / "src" / "oshaberi"
    sources = [path for path in sorted((package / "text").rglob("*.py")) if path.name not in PURE]
    sources += [package / name for name in AROUND_THE_ENGINE]
    names = [str(path.relative_to(root)) for path in sources]
    before = Path.cwd()
    os.chdir(root)
    try:
        extensions = mypycify(
            [
                "--config-file",
                "pyproject.toml",
                *QUIETLY,
                "--cache-dir",
                str(folder / "mypy"),
                *names,
            ],
            opt_level=os.environ.get(OPTIMIZATION, "3"),
            target_dir=str(folder / "c"),
            group_name="oshaberi",
        )
        command = Distribution({"name": "oshaberi", "ext_modules": extensions}).get_command_obj(
            "build_ext"
        )
        command.build_lib = str(folder / "lib")
        command.build_temp = str(folder / "objects")
        command.ensure_finalized()
        command.run()
    finally:
        os.chdir(before)
