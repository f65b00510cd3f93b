"""`/persona` and `/sprite`: the characters of a server and their pictures.

- `persona_commands`: `/persona` and its forms. `sprite_commands`: `/sprite`.
- `persona_changes`: finds, checks and changes the personas of a server.
- `picture_uploads`: reads the pictures that a command got, and keeps them.
"""

from __future__ import annotations

from oshaberi.bot.commands.personas import sprite_commands
from oshaberi.bot.commands.personas.persona_commands import persona

__all__ = ["COMMANDS"]

COMMANDS = (persona, *sprite_commands.COMMANDS)
