"""Hot reload: checks the settings file now and then, and reports what changed in it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from oshaberi.bot.config.all_settings import DECLARED
from oshaberi.bot.config.loaded import LoadedSettings
from oshaberi.bot.config.loading import load, load_from
from oshaberi.bot.config.process import ProcessConfig
from oshaberi.errors import ConfigError

log = logging.getLogger(__name__)

EVERY_S = 2.0
WITHOUT_RESTART = frozenset(
    {"allow_local_models", "log_level", "models", "persona", "server_limits"}
    | {"retention_turns_days", "retention_facts_days", "retention_usage_days"}
    | {"retention_left_servers_days", "retention_backups_days"}
)
"""The settings of `ProcessConfig` that a running bot applies; its other settings need a restart."""
Fingerprint = tuple[int, int, int] | None


class Reloader:
    """Watches the settings file.

    `current` has the settings that apply now; a setting that needs a restart keeps the value that
    it had at the start.
    """

    def __init__(
        self,
        settings: LoadedSettings,
        environ: Mapping[str, str],
        on_change: Callable[[LoadedSettings], None] = lambda _settings: None,
        *,
        every_s: float = EVERY_S,
    ) -> None:
        self.current = settings
        self._environ = environ
        self._on_change = on_change
        self._every_s = every_s
        self._seen = _fingerprint(settings.file)
        self._read_sources = _read_sources(settings, environ)

    async def watch(self) -> None:
        """Check the file periodically, until the task is cancelled. Uses the loop's clock."""
        while True:
            await asyncio.sleep(self._every_s)
            self.check()

    def check(self) -> LoadedSettings | None:
        """Check the file once. Return the new settings if it changed and is valid."""
        seen = _fingerprint(self.current.file)
        if seen == self._seen:
            return None
        self._seen = seen
        try:
            return self._take(load(self.current.file, self._environ))
        except ConfigError as error:
            log.error("the settings stay as they were: %s", error)
            return None

    def _take(self, new: LoadedSettings) -> LoadedSettings | None:
        changed = {key for key in DECLARED if new.value(key) != self._read_sources.value(key)}
        waiting = sorted(key for key in changed if _needs_restart(key))
        if waiting:
            log.warning("these need a restart: %s", ", ".join(waiting))
        applied = sorted(changed.difference(waiting))
        if not applied:
            return None
        self._read_sources = _with_old(new, self._read_sources)
        self.current = _with_old(new, self.current)
        log.info("settings changed: %s", ", ".join(applied))
        self._on_change(self.current)
        return self.current


def _read_sources(settings: LoadedSettings, environ: Mapping[str, str]) -> LoadedSettings:
    """Return what the file and the environment say, without values from the command line."""
    if settings.file is None:
        return settings
    try:
        return load_from(settings.file, environ, required=False)
    except ConfigError:
        return settings


def _needs_restart(key: str) -> bool:
    return DECLARED[key].section is ProcessConfig and key not in WITHOUT_RESTART


def _with_old(new: LoadedSettings, old: LoadedSettings) -> LoadedSettings:
    """Return the new settings; those that need a restart keep their old values and origins."""
    staying = [one.name for one in fields(ProcessConfig) if _needs_restart(one.name)]
    origins = {key: place for key, place in new.origins.items() if key not in staying}
    origins |= {key: old.origins[key] for key in staying if key in old.origins}
    values: dict[str, Any] = {key: getattr(old, key) for key in staying}
    return replace(new, **values, origins=origins)


def _fingerprint(file: Path | None) -> Fingerprint:
    try:
        found = file.stat() if file else None
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if found else None
