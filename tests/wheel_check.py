"""`python -I tests/wheel_check.py compiled`: whether the installed wheel works, and is compiled.

Run it outside of the checkout's environment, where only the wheel and what it needs are installed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TEXT = "Two words.\n\n- one `code`\n- two\n\n```py\nprint(1)\n```\n:dog:"
BUILDS = {"compiled": "compiled", "pure": "pure Python"}


def check(wanted: str) -> str | None:
    """Return what is wrong, or None."""
    import oshaberi
    from oshaberi.cli.engine_build import build_name

    if Path(oshaberi.__file__).is_relative_to(Path(__file__).parents[1] / "src"):
        return "this is the checkout, not an installed wheel"
    if build_name() != BUILDS[wanted]:
        return f"the text engine is {build_name()}"
    program = [sys.executable, "-I", "-m", "oshaberi"]
    said = subprocess.run([*program, "--version"], capture_output=True, text=True, check=True)
    if f"(text engine: {BUILDS[wanted]})" not in said.stdout:
        return f"--version says {said.stdout!r}"
    engine = oshaberi.TextEngine()
    shown = [*engine.feed(TEXT), *engine.finish()]
    text = "".join(getattr(one, "text", "") for one in shown)
    return None if "🐶" in text and "print(1)" in text else f"the engine made {shown!r}"


if __name__ == "__main__":
    problem = check(sys.argv[1])
    if problem is not None:
        sys.exit(f"wheel check: {problem}")
    sys.stdout.write(f"the {sys.argv[1]} wheel works\n")
