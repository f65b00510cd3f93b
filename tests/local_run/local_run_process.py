"""`oshaberi run` as a process on a free port, and a person at its control API."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

OSHABERI = [sys.executable, "-m", "oshaberi"]
PATIENT = [sys.executable, "-m", "tests.local_run.patient_program"]
ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0


def environment(data: Path, **more: str) -> dict[str, str]:
    """Ours, without settings that somebody may have set."""
    plain = {key: value for key, value in os.environ.items() if not key.startswith("OSHABERI_")}
    paths = filter(None, [str(ROOT), plain.get("PYTHONPATH")])
    return {
        **plain,
        "PYTHONPATH": os.pathsep.join(paths),
        "OSHABERI_DATA_DIR": str(data),
        # At once, and only whoever addresses the bot: nothing here depends on chance.
        "OSHABERI_BURST_WAIT_MS": "0",
        "OSHABERI_ATTENTION_MS": "0",
        **more,
    }


class LocalRunProcess:
    """A running `oshaberi run`."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process = process
        self.address = address
        self.url, _, self.token = address.partition("/?token=")

    def page(self) -> str:
        with urlopen(self.address, timeout=30) as answer:
            content: bytes = answer.read()
        return content.decode()

    def get(self, action: str, query: str = "") -> Any:
        return self._ask(Request(f"{self.url}/stage/{action}{query}"))

    def post(self, action: str, **said: Any) -> Any:
        request = Request(f"{self.url}/stage/{action}", json.dumps(said).encode(), method="POST")
        request.add_header("Content-Type", "application/json")
        return self._ask(request)

    def _ask(self, request: Request) -> Any:
        request.add_header("X-Stage-Token", self.token)
        try:
            with urlopen(request, timeout=30) as answer:
                return json.load(answer)["result"]
        except HTTPError as error:
            return json.load(error)

    def messages(self, channel: str = "general") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get("messages", f"?channel={channel}")
        return found

    def until(self, holds: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        """Looks at #general until it holds; another process's time cannot be made virtual."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds(found := self.messages()):
            if time.monotonic() > deadline:
                raise AssertionError(f"it never came to be: {[m['content'] for m in found]}")
            time.sleep(0.05)
        return found

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)


@contextmanager
def local_run(
    data: Path, *options: str, program: Sequence[str] = OSHABERI
) -> Iterator[LocalRunProcess]:
    """From the moment it says where it is; ended at the end if it has not ended by itself."""
    command = [*program, "run", "--port", "0", "--no-browser", *options]
    with (data.parent / "run.log").open("w") as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment(data),
            cwd=data.parent,  # whoever tests may have an oshaberi.toml
        )
    try:
        yield LocalRunProcess(process, _address(process))
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\S+", line):
            return found[0]
    raise AssertionError(f"it ended with {process.wait()} and never said where it was")
