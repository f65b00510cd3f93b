"""The settings of a running program, checked, with where each of them came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oshaberi.config.process_config import ProcessConfig
from oshaberi.config.secret_masking import masked
from oshaberi.config.setting_declarations import DECLARED
from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.text.text_config import TextConfig

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class LoadedSettings(ProcessConfig):
    """`load` makes them. Those of the process are attributes, as in `settings.database_url`."""

    stream: StreamConfig = field(default_factory=StreamConfig)
    turn: TurnConfig = field(default_factory=TurnConfig)
    origins: Mapping[str, str] = field(default_factory=dict)
    """Of each key that is not at its default: the file or the variable it was set in."""
    file: Path | None = None
    """The file that was looked for, whether it is there or not."""

    def value(self, key: str) -> Any:
        """Any setting by its name."""
        homes: Mapping[type, object] = {
            TextConfig: self.stream.text,
            StreamConfig: self.stream,
            TurnConfig: self.turn,
            ProcessConfig: self,
        }
        return getattr(homes[DECLARED[key].section], key)

    def shown(self, key: str) -> Any:
        """The same, as JSON can say it, without secrets."""
        return masked(DECLARED[key], self.value(key))

    def origin(self, key: str) -> str:
        return self.origins.get(key, DEFAULT)

    def secrets(self, environ: Mapping[str, str]) -> tuple[str, ...]:
        """What must not be seen anywhere."""
        keys = [key for model in self.models for key in model.keys(environ)]
        inside = [
            value
            for server in self.mcp_servers.values()
            for value in (*server.env.values(), *server.headers.values())
        ]
        return tuple(filter(None, [self.discord_token, *keys, *inside]))
