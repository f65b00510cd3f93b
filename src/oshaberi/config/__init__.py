"""The settings of the program: declared once, read from the environment and one file.

    settings = load(None, os.environ)            # OSHABERI_… over oshaberi.toml over defaults
    stored = await db.servers.settings(server_id)
    here = effective(settings, *stored.layers(path.ids))

- Declared: `process_config` and its `toml_tables` (other settings are declared in the packages that
  use them); `all_settings` collects all of them, `renamed_settings` has the old names.
- Read: `settings_loading`, by `settings_schema` and `value_parsing`; `setting_errors` says what is
  wrong. The result is `loaded_settings`; `hot_reload` reads the file again when it changes.
- Changed by admins: `server_keys` says which settings, `server_limits` how far,
  `inherited_settings` decides which value applies.
- Shown: `settings_redaction` masks what is secret; `secrets_in_settings` finds the secrets in URLs
  and headers.

Importing this package imports neither pydantic nor other large modules.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oshaberi.config.all_settings import DECLARED, Setting
    from oshaberi.config.hot_reload import Reloader
    from oshaberi.config.inherited_settings import EffectiveSettings, check_together, effective
    from oshaberi.config.loaded_settings import LoadedSettings
    from oshaberi.config.process_config import ProcessConfig
    from oshaberi.config.server_keys import SERVER_KEYS, parse_server_value
    from oshaberi.config.settings_loading import load
    from oshaberi.config.toml_tables import McpServerEntry, ModelEntry, PersonaEntry

__all__ = [
    "DECLARED",
    "SERVER_KEYS",
    "EffectiveSettings",
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
    "all_settings": ("DECLARED", "Setting"),
    "settings_loading": ("load",),
    "process_config": ("ProcessConfig",),
    "toml_tables": ("McpServerEntry", "ModelEntry", "PersonaEntry"),
    "hot_reload": ("Reloader",),
    "server_keys": ("SERVER_KEYS", "parse_server_value"),
    "inherited_settings": ("EffectiveSettings", "check_together", "effective"),
    "loaded_settings": ("LoadedSettings",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"oshaberi.config.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
