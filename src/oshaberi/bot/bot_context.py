"""The parts of the bot that its client, its commands and the status page use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from oshaberi.bot.characters.work_limits import CharacterWork
from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.faces.kept_pictures import Faces
from oshaberi.bot.faces.own_face import OwnFaces
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import KeyRecord
from oshaberi.bot.turns.channel_turns import ChannelTurns
from oshaberi.bot.turns.services.turn_services import TurnServices


@dataclass(frozen=True, slots=True)
class BotContext:
    """The parts of the bot that its client, its commands and the status page use."""

    db: Database
    channel_turns: ChannelTurns
    services: TurnServices
    faces: Faces
    own_faces: OwnFaces
    settings: Callable[[], LoadedSettings]
    """Returns the operator's settings as they are now."""
    character_work: CharacterWork = field(default_factory=CharacterWork)
    """The cards and drafts that people are importing."""

    def personas_changed(self, server_id: int) -> None:
        """Empty the persona cache of a server, so that the next turn reads it again."""
        self.channel_turns.persona_cache.forget(server_id)
        if server_id:
            self.own_faces.refresh_soon([server_id])

    def cooldown_end(self, key: KeyRecord) -> datetime | None:
        """Return when the cooldown of a key ends, or None if it can be used now."""
        return self.services.models.cooldown_end(key)
