"""The settings of the program: declared once, read from the environment and one file.

    settings = load(None, os.environ)            # OSHABERI_… over oshaberi.toml over defaults
    stored = await db.servers.settings(server_id)
    here = effective(settings, *stored.layers(path.ids))

- Declared: `process` and its `toml_tables`, which also say what is wrong with the file; other
  settings are declared in the packages that use them. `all_settings` collects all of them.
- Read: `loading`, by `schema` and `oshaberi.value_parsing`. The result is `loaded`; `hot_reload`
  reads the file again when it changes.
- Made: `going_live` checks a token and writes the first settings, `secrets_file` keeps the secrets.
- Changed by admins: `server_settings` says which settings, within which limits, and which value
  applies; `presets` change several at once. `current_settings` are those in force now, for every
  server and channel.
- Shown: `redaction` masks what is secret.

Importing this package imports neither pydantic nor other large modules.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oshaberi.bot.config.all_settings import DECLARED, SERVER_KEYS, Setting
    from oshaberi.bot.config.hot_reload import Reloader
    from oshaberi.bot.config.loaded import LoadedSettings
    from oshaberi.bot.config.loading import load
    from oshaberi.bot.config.process import ProcessConfig
    from oshaberi.bot.config.server_settings import (
        check_together,
        effective,
        parse_server_value,
    )
    from oshaberi.bot.config.toml_tables import McpServerEntry, ModelEntry, PersonaEntry

__all__ = [
    "DECLARED",
    "SERVER_KEYS",
    "LoadedSettings",
    "McpServerEntry",
    "ModelEntry",
    "PersonaEntry",
    "ProcessConfig",
    "Reloader",
    "Setting",
    "check_together",
    "effective",
    "load",
    "parse_server_value",
]

_HOMES = {
    "all_settings": ("DECLARED", "SERVER_KEYS", "Setting"),
    "loading": ("load",),
    "process": ("ProcessConfig",),
    "toml_tables": ("McpServerEntry", "ModelEntry", "PersonaEntry"),
    "hot_reload": ("Reloader",),
    "server_settings": ("check_together", "effective", "parse_server_value"),
    "loaded": ("LoadedSettings",),
}


if not TYPE_CHECKING:  # a type checker that sees it accepts every name

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f"oshaberi.bot.config.{home}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
