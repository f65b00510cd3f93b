"""llama.cpp's own HTTP server, in the foreground: `python llama_server.py MODEL PORT name=value …`.

The values are fields of llama.cpp's `common_params`. Runs in the environment of the servers, which
has `xllamacpp`.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import xllamacpp

SETTINGS = {"n_ctx": 16_384, "n_parallel": 4, "n_predict": -1, "warmup": False}


def serve(model: str, port: int, settings: dict[str, Any]) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.port = port
    params.endpoint_slots = True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    for name, value in {**SETTINGS, **settings}.items():
        setattr(params, name, value)
    server = xllamacpp.Server(params)
    print("listening at", server.listening_address, flush=True)  # noqa: T201
    threading.Event().wait()


def parsed(setting: str) -> tuple[str, Any]:
    name, _, value = setting.partition("=")
    if name == "api_keys":
        return name, [value]
    if value in ("true", "false"):
        return name, value == "true"
    return name, int(value) if value.lstrip("-").isdigit() else value


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), dict(map(parsed, sys.argv[3:])))
