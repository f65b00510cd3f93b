"""Where a process spends its time, by package: stacks that py-spy wrote, counted.

py-spy is not a dependency: `pip install py-spy`. It looks from outside and slows nothing down.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from bench.report import aligned_table

_FRAME = re.compile(r"\((?P<path>[^()]*?)(?::\d+)?\)$")
_STANDARD = sys.stdlib_module_names | {"bench", "<string>"}
_OUTERMOST = frozenset({"oshaberi.cli", "click", "runpy"})
_WAITS = frozenset({"_connection_worker_thread", "_worker", "wait", "select"})
_MOST_ROWS = 30
_RATE = "200"
_END_S = 30.0
_DEPTH = {"oshaberi": 2}
"""So many folders of a path name a package; of any other, one."""


def py_spy_path() -> str | None:
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.exists() else shutil.which("py-spy")


@asynccontextmanager
async def stacks_of(pid: int, program: str, file: Path) -> AsyncIterator[None]:
    """Written to `file` when the block ends."""
    arguments = ("record", "--pid", str(pid), "--format", "raw", "--rate", _RATE)
    sampling = await asyncio.create_subprocess_exec(
        program,
        *(*arguments, "--duration", "unlimited", "--output", str(file)),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        if sampling.returncode is None:
            sampling.send_signal(signal.SIGINT)
        async with asyncio.timeout(_END_S):
            await sampling.wait()


def is_waiting(frames: Sequence[str]) -> bool:
    """A thread that waits for work or for its lock; py-spy takes some of them for busy."""
    return frames[-1].partition(" ")[0].rpartition(".")[2] in _WAITS


def package_of(frame: str) -> str:
    """`send (discord/abc.py:12)` → `discord`; a file of its own is its name."""
    found = _FRAME.search(frame)
    parts = Path(found["path"] if found else frame).parts
    folders = parts[: _DEPTH.get(parts[0], 1)] if parts else ("?",)
    return ".".join(folders).removesuffix(".py")


def charged_to(frames: Sequence[str]) -> str:
    """Whose work it is: the innermost package that is not the standard library's.

    The event loop's own work is its own.
    """
    for frame in reversed(frames):
        package = package_of(frame)
        if package in _OUTERMOST:
            break
        if package.partition(".")[0] not in _STANDARD:
            return package
    return package_of(frames[-1])


def summary(stacks: str) -> str:
    """Each package's share by itself, and with all that it called."""
    own: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    for line in stacks.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = [frame for frame in stack.split(";") if _FRAME.search(frame)]
        if not frames or is_waiting(frames):
            continue
        own[charged_to(frames)] += int(count)
        for package in {package_of(frame) for frame in frames}:
            whole[package] += int(count)
    total = sum(own.values()) or 1
    rows = [
        [package, f"{100 * count / total:.1f}", f"{100 * whole[package] / total:.1f}"]
        for package, count in own.most_common(_MOST_ROWS)
    ]
    title = f"Time by package, {total} samples; the standard library's is its caller's"
    return aligned_table(title, ["package", "itself %", "with what it calls %"], rows)
