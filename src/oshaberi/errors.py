"""Every error Oshaberi raises on purpose. Each says whose fault it is and what to do."""

from __future__ import annotations


class OshaberiError(Exception):
    """The root: catch this to catch all of ours."""


class ConfigError(OshaberiError):
    """A setting has a value that is not allowed. Names the key, the value and what is allowed."""


class SceneError(OshaberiError):
    """A scene file cannot be used. Names the file, the key and the reason."""


class EngineClosedError(OshaberiError):
    """A text engine serves one stream; it was fed after that stream ended."""
