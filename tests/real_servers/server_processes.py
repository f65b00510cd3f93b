"""Starts model servers as processes: llama.cpp's own, and LiteLLM. One of each per test run.

They live in an environment of their own (`make servers`). Where it is missing a test is skipped;
with CI=true that is a failure.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.free_ports import free_port

HERE = Path(__file__).parent
ENVIRONMENT = HERE.parents[1] / ".venv-servers"
LLAMA_KEY = "sk-llama-a1b2c3d4e5"
LITELLM_KEY = "sk-master-a1b2c3d4e5"
_START_S = 180.0
_LOOK_S = 0.05
_END_S = 10.0
_ends = ExitStack()


def stop_servers() -> None:
    """For `pytest_sessionfinish`."""
    _ends.close()


class ServerProcess:
    """A running server. `url` has no path."""

    def __init__(self, command: list[str], port: int, health: str, **variables: str) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._health = self.url + health
        self._log = _folder() / f"{port}.txt"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **variables},
            )
        _ends.callback(self.kill)

    def wait_until_ready(self) -> None:
        """Wait until it answers. A server that ends instead says why in its log."""
        deadline = time.monotonic() + _START_S
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"no server: {self._log.read_text('utf-8', 'replace')[-2000:]}")
            time.sleep(_LOOK_S)

    def kill(self) -> None:
        """End it at once, in the middle of whatever it says."""
        self._process.kill()
        self._process.wait(_END_S)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(self._health, timeout=_END_S) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


def new_llama_server(**settings: str) -> ServerProcess:
    """Start llama.cpp's server, with fields of its `common_params`."""
    given = [f"{name}={value}" for name, value in settings.items()]
    port = free_port()
    program = str(HERE / "programs" / "llama_server.py")
    return _started([_python(), program, str(_model()), str(port), *given], port, "/health")


@functools.cache
def llama_server() -> ServerProcess:
    """Return the server that all tests share. It wants a key, and takes 4096 tokens a request."""
    return new_llama_server(api_keys=LLAMA_KEY)


@functools.cache
def llama_server_without_jinja() -> ServerProcess:
    return new_llama_server(use_jinja="false", n_ctx="8192", n_parallel="2")


def litellm_proxy() -> ServerProcess:
    """Return the proxy that all tests share. The request names the server behind it."""
    proxy = _begun_litellm_proxy()
    proxy.wait_until_ready()
    return proxy


def begin_litellm_proxy() -> None:
    """Start it without waiting: it loads for ten seconds, and others can use them."""
    if (ENVIRONMENT / ".ready").exists():
        _begun_litellm_proxy()


@functools.cache
def _begun_litellm_proxy() -> ServerProcess:
    program = [_python(), "-c", "from litellm import run_server; run_server()"]
    port = free_port()
    command = [*program, "--config", str(HERE / "litellm.yaml"), "--port", str(port)]
    return ServerProcess(
        [*command, "--host", "127.0.0.1"],
        port,
        "/health/liveliness",
        # Otherwise it asks the internet for prices, three times.
        LITELLM_LOCAL_MODEL_COST_MAP="True",
        LITELLM_TELEMETRY="False",
        LITELLM_MASTER_KEY=LITELLM_KEY,
        PYTHONPATH="",
    )


def _started(command: list[str], port: int, health: str) -> ServerProcess:
    server = ServerProcess(command, port, health)
    server.wait_until_ready()
    return server


@functools.cache
def _model() -> Path:
    path = _folder() / "scripted.gguf"
    program = str(HERE / "programs" / "scripted_gguf.py")
    subprocess.run([_python(), program, str(path)], check=True, capture_output=True)
    return path


def _python() -> str:
    found = ENVIRONMENT / "bin" / "python"
    if (ENVIRONMENT / ".ready").exists():
        return str(found)
    words = f"no model servers here: run `make servers` ({found} is missing)"
    if os.environ.get("CI") == "true":
        pytest.fail(words)
    pytest.skip(words)


@functools.cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="oshaberi-servers-"))
    _ends.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder
