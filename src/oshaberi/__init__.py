"""Oshaberi: a model's token stream, delivered to Discord the way a person would write it."""

from oshaberi.errors import ConfigError, EngineClosedError, OshaberiError, SceneError
from oshaberi.events import (
    Details,
    Event,
    Identity,
    Message,
    SpeakerStop,
    Table,
    Thought,
    Withheld,
)
from oshaberi.text.config import Known, Persona, Sprite, TextConfig
from oshaberi.text.engine import Carry, TextEngine
from oshaberi.text.normalize import cleaned_text
from oshaberi.text.observe import Decision

__version__ = "0.1.0"

__all__ = [
    "Carry",
    "ConfigError",
    "Decision",
    "Details",
    "EngineClosedError",
    "Event",
    "Identity",
    "Known",
    "Message",
    "OshaberiError",
    "Persona",
    "SceneError",
    "SpeakerStop",
    "Sprite",
    "Table",
    "TextConfig",
    "TextEngine",
    "Thought",
    "Withheld",
    "cleaned_text",
]
