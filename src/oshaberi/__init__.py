"""Oshaberi: a model's token stream, delivered to Discord the way a person would write it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from oshaberi.chunks import Chunk, ThoughtPart, ToolCall
    from oshaberi.delivery.recording_sink import RecordingSink
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
    from oshaberi.one_call.call import Delivery, deliver, stop
    from oshaberi.one_call.call import open_delivery as delivery
    from oshaberi.one_call.model_streams import ModelStreamError
    from oshaberi.text.config import Known, Persona, Sprite, TextConfig
    from oshaberi.text.decision_observer import Decision
    from oshaberi.text.engine import Carry, TextEngine
    from oshaberi.text.normalize.table import cleaned_text

__version__ = "0.1.0"

__all__ = [
    "Carry",
    "Chunk",
    "ConfigError",
    "Decision",
    "Delivery",
    "Details",
    "EngineClosedError",
    "Event",
    "Identity",
    "Known",
    "Message",
    "ModelStreamError",
    "OshaberiError",
    "Persona",
    "RecordingSink",
    "SceneError",
    "SpeakerStop",
    "Sprite",
    "Table",
    "TextConfig",
    "TextEngine",
    "Thought",
    "ThoughtPart",
    "ToolCall",
    "Withheld",
    "cleaned_text",
    "deliver",
    "delivery",
    "stop",
]

_HOMES = {
    "chunks": ("Chunk", "ThoughtPart", "ToolCall"),
    "delivery.recording_sink": ("RecordingSink",),
    "errors": ("ConfigError", "EngineClosedError", "OshaberiError", "SceneError"),
    "events": (
        *("Details", "Event", "Identity", "Message"),
        *("SpeakerStop", "Table", "Thought", "Withheld"),
    ),
    "one_call.call": ("Delivery", "deliver", "open_delivery", "stop"),
    "one_call.model_streams": ("ModelStreamError",),
    "text.config": ("Known", "Persona", "Sprite", "TextConfig"),
    "text.engine": ("Carry", "TextEngine"),
    "text.normalize.table": ("cleaned_text",),
    "text.decision_observer": ("Decision",),
}


if not TYPE_CHECKING:  # a type checker that sees it accepts every name

    def __getattr__(name: str) -> Any:
        """Load a name when it is first used, so that a command reacts to Ctrl-C from the start."""
        from importlib import import_module

        if name == "delivery":
            return import_module("oshaberi.delivery")  # a package that can be called
        for home, names in _HOMES.items():
            if name in names:
                found = getattr(import_module(f"oshaberi.{home}"), name)
                globals()[name] = found
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
