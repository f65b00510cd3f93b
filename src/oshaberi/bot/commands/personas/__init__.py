"""`/persona` and `/sprite`: the characters of a server and their pictures.

- `persona_commands`: `/persona`; `persona_forms`: its forms; `persona_changes`: what it changes.
- `persona_input_checks`: which names, pictures and trigger words a user may enter.
- `server_personas`: finds and lists the personas of a server.
- `sprite_commands`: `/sprite`.
"""

from __future__ import annotations

from oshaberi.bot.commands.personas import sprite_commands
from oshaberi.bot.commands.personas.persona_commands import persona

__all__ = ["COMMANDS"]

COMMANDS = (persona, *sprite_commands.COMMANDS)
