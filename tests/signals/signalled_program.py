"""`oshaberi run`, which sends itself signals at chosen moments of its life.

A moment is a count of progress, not of time, so a busy machine changes nothing: the n-th module
that is imported, the n-th turn of the event loop, or so many turns after it was ready or after the
first signal.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

SIGNALS_VARIABLE = "SIGNALLED_AT"
REPORT_VARIABLE = "SIGNALLED_REPORT"
STAGE_VARIABLE = "SIGNALLED_ON"

Moment = tuple[str, str, int]
"""The signal's name, what is counted, and how many of it."""


class Signaller(MetaPathFinder):
    """Counts progress, and sends the signals in their order."""

    def __init__(self, moments: Sequence[Moment], report: Path) -> None:
        self._left = list(moments)
        self._report = report
        self._sent: list[dict[str, object]] = []
        self._counts: Counter[str] = Counter()
        self._phases: set[str] = set()

    def begin(self, phase: str) -> None:
        """Count turns of the loop from now on for this phase too."""
        self._phases.add(phase)
        self._check()

    def note(self, what: str) -> None:
        self._counts[what] += 1
        if what == "turn":
            for phase in self._phases:
                self._counts[phase] += 1
        self._check()

    def _check(self) -> None:
        while self._left:
            name, what, count = self._left[0]
            reached = what in self._phases or what in ("import", "turn")
            if not reached or self._counts[what] < count:
                return
            del self._left[0]
            is_caught = signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
            self._sent.append(
                {"at": time.monotonic(), "held_up": held_up_s("self"), "is_caught": is_caught}
            )
            self._report.write_text(json.dumps(self._sent))
            self._phases.add("signal")
            os.kill(os.getpid(), signal.Signals[name])

    # -- what is watched -------------------------------------------------------------------------

    def find_spec(self, *_asked: object) -> None:
        """Python asks for each module that is imported."""
        self.note("import")

    def watch(self) -> None:
        sys.meta_path.insert(0, self)
        turn, freeze = asyncio.BaseEventLoop._run_once, gc.freeze  # type: ignore[attr-defined]

        def counted_turn(loop: Any) -> None:
            self.note("turn")
            turn(loop)

        def ready() -> None:
            freeze()
            self.begin("ready")

        asyncio.BaseEventLoop._run_once = counted_turn  # type: ignore[attr-defined]
        gc.freeze = ready  # `run` calls it when the bot answers


def held_up_s(pid: int | str) -> float:
    """How long the process was ready to run while others had the processors."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def main() -> None:
    moments = [tuple(one) for one in json.loads(os.environ[SIGNALS_VARIABLE])]
    signaller = Signaller(moments, Path(os.environ[REPORT_VARIABLE]))
    signaller.watch()
    with _on_stage(os.environ.get(STAGE_VARIABLE)):
        from oshaberi import cli

        cli.program()


def _on_stage(url: str | None) -> AbstractContextManager[None]:
    """Point discord.py at a stage, if there is one. Without a token `run` brings its own."""
    if url is None:
        return nullcontext()
    from discord_stage.discord_py_redirect import patch_discord

    return patch_discord(url)


if __name__ == "__main__":
    main()
