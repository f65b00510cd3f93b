"""The settings of a running program, checked, with the origin of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oshaberi.bot.config.all_settings import DECLARED
from oshaberi.bot.config.process import ProcessConfig
from oshaberi.bot.config.redaction import (
    KnownSecrets,
    mask_value,
    secrets_in_header,
    secrets_in_url,
)
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.delivery.config import StreamConfig
from oshaberi.secret_redaction import secret_settings
from oshaberi.text.config import TextConfig

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class LoadedSettings(ProcessConfig):
    """All settings, as `load` returns them.

    Those of the process are attributes, such as `settings.database_url`.
    """

    stream: StreamConfig = field(default_factory=StreamConfig)
    turn: TurnConfig = field(default_factory=TurnConfig)
    origins: Mapping[str, str] = field(default_factory=dict)
    """For each key that is not at its default: the file or the variable that set it."""
    file: Path | None = None
    """The path of the settings file, whether it exists or not."""
    service_links: tuple[str, ...] = ()
    """Ignored variables, which describe a Kubernetes service instead of a setting."""

    def value(self, key: str) -> Any:
        """Return the value of any setting by its name."""
        homes: Mapping[type, object] = {
            TextConfig: self.stream.text,
            StreamConfig: self.stream,
            TurnConfig: self.turn,
            ProcessConfig: self,
        }
        return getattr(homes[DECLARED[key].section], key)

    def display(self, key: str, environ: Mapping[str, str] | None = None) -> Any:
        """Return the value as JSON.

        Every secret is masked, even where another setting repeats it.
        """
        setting = DECLARED[key]
        value = mask_value(setting, self.value(key))
        if "choices" in setting.about:
            return value
        return KnownSecrets(self.secrets(environ or {})).hide(value)

    def display_all(self, environ: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """Return every setting by name: its `value` as in `display`, and its origin as `from`."""
        known = KnownSecrets(self.secrets(environ))
        return {
            key: {"value": self.display(key, environ), "from": known.hide(self.origin(key))}
            for key in DECLARED
        }

    def origin(self, key: str) -> str:
        return self.origins.get(key, DEFAULT)

    def secrets(self, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Return all secret values: tokens, keys, passwords."""
        servers, models = self.mcp_servers.values(), self.models
        own = [self.database_url, self.redis_url, self.discord_api_url, self.otel_endpoint]
        urls = [*own, *(server.url for server in servers)]
        headers = [value for server in servers for value in secret_settings(server.headers)]
        found: list[str | None] = [
            self.discord_token,
            self.status_token,
            environ.get("OSHABERI_SECRET_KEY"),
            *(key for model in models for key in (*model.api_keys, *model.keys(environ))),
            *(value for server in servers for value in secret_settings(server.env)),
            *(value for model in models for value in model.headers.values()),
            *(part for value in headers for part in secrets_in_header(value)),
            *(part for url in urls for part in secrets_in_url(url)),
            *(part for model in models for part in secrets_in_url(model.base_url)),
        ]
        return tuple(dict.fromkeys(one for one in found if one))
