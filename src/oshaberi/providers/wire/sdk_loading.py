"""Imports an SDK when an adapter is made, and says how to install a missing one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from oshaberi.errors import ConfigError, Sentence

NO_KEY = "none"
"""Sent where no key is needed. It is never left out, because an SDK would then look for one in the
environment."""


def load_sdk(module: str, extra: str) -> Any:
    """Import the SDK. Raises ConfigError with the install command if it is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] != module.partition(".")[0]:
            raise
        command = f'pip install "oshaberi[{extra}]"'
        words = Sentence(
            "the {module} package is not installed: {command}", module=module, command=command
        )
        raise ConfigError(words) from None
