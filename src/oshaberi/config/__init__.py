"""The settings of the program: declared once, read from the environment and one file.

    settings = load(None, os.environ)            # OSHABERI_… over oshaberi.toml over defaults
    stream, turn = effective(settings, await db.servers.config(server_id))

`SERVER_KEYS` is what a server's admins may change; `parse_server_value` reads what they typed.
Importing this loads neither pydantic nor anything else of weight.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oshaberi.config.declared import DECLARED, Setting
    from oshaberi.config.loading import load
    from oshaberi.config.process import McpServer, ModelEntry, PersonaEntry, ProcessConfig
    from oshaberi.config.reload import Reloader
    from oshaberi.config.server import (
        SERVER_KEYS,
        Effective,
        check_together,
        effective,
        parse_server_value,
    )
    from oshaberi.config.settings import Settings

__all__ = [
    "DECLARED",
    "SERVER_KEYS",
    "Effective",
    "McpServer",
    "ModelEntry",
    "PersonaEntry",
    "ProcessConfig",
    "Reloader",
    "Setting",
    "Settings",
    "check_together",
    "effective",
    "load",
    "parse_server_value",
]

_HOMES = {
    "declared": ("DECLARED", "Setting"),
    "loading": ("load",),
    "process": ("McpServer", "ModelEntry", "PersonaEntry", "ProcessConfig"),
    "reload": ("Reloader",),
    "server": ("SERVER_KEYS", "Effective", "check_together", "effective", "parse_server_value"),
    "settings": ("Settings",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"oshaberi.config.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
