"""A Discord on loopback: REST and gateway, as strict as the real one, that breaks on demand.

The real, unmodified discord.py logs in to it. `oshaberi.stage.testing` has what tests need.
"""

from oshaberi.stage.core import Settings
from oshaberi.stage.errors import (
    StageError,
    StageProblemsError,
    StageTimeoutError,
    WorldError,
)
from oshaberi.stage.faults import EDIT, SEND, TYPING, WEBHOOK, Fault
from oshaberi.stage.model import Message
from oshaberi.stage.refusals import RefusalError
from oshaberi.stage.server import Stage
from oshaberi.stage.world import World

__all__ = [
    "EDIT",
    "SEND",
    "TYPING",
    "WEBHOOK",
    "Fault",
    "Message",
    "RefusalError",
    "Settings",
    "Stage",
    "StageError",
    "StageProblemsError",
    "StageTimeoutError",
    "World",
    "WorldError",
]
