"""A Discord on loopback: REST and gateway, as strict as the real one, that breaks on demand.

The real, unmodified discord.py logs in to it. `oshaberi.stage.testing` has what tests need.
"""

from oshaberi.stage.api_refusals import RefusalError
from oshaberi.stage.requests.injected_faults import EDIT, SEND, TYPING, WEBHOOK, Fault
from oshaberi.stage.stage_errors import (
    StageError,
    StageProblemsError,
    StageTimeoutError,
    WorldError,
)
from oshaberi.stage.stage_server import Stage
from oshaberi.stage.stage_state import Settings
from oshaberi.stage.world.discord_records import StageMessage
from oshaberi.stage.world.world_state import World

__all__ = [
    "EDIT",
    "SEND",
    "TYPING",
    "WEBHOOK",
    "Fault",
    "RefusalError",
    "Settings",
    "Stage",
    "StageError",
    "StageMessage",
    "StageProblemsError",
    "StageTimeoutError",
    "World",
    "WorldError",
]
