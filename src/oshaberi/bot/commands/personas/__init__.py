"""`/persona` and `/sprite`: the characters of a server and their pictures.

- `persona_commands`: `/persona` and its forms. `sprite_commands`: `/sprite`.
- `draft_command`: a persona from one sentence, which the model drafts.
- `card_commands`: `/persona import` and `export`.
- `persona_changes`: finds, checks and changes the personas of a server.
- `option_commands`: `/persona show` and `/persona set`, what one persona does differently.
- `preview_command`: `/persona preview`, what a model would read.
- `profile_command`: how the bot itself looks in a server.
- `picture_uploads`: reads the pictures that a command got, and keeps them.
"""

from __future__ import annotations

from oshaberi.bot.commands.personas import card_commands, option_commands, sprite_commands
from oshaberi.bot.commands.personas.persona_commands import persona
from oshaberi.bot.commands.personas.preview_command import preview
from oshaberi.bot.commands.personas.profile_command import profile

__all__ = ["COMMANDS"]

persona.add_command(card_commands.import_)
persona.add_command(card_commands.export)
persona.add_command(preview)
persona.add_command(option_commands.show)
persona.add_command(option_commands.set_)
persona.add_command(profile)

COMMANDS = (persona, *sprite_commands.COMMANDS)
