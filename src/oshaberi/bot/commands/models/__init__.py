"""`/model`: which models answer in a server or a channel, and with which keys.

- `model_commands`: `/model show`, `set` and `reset`.
- `fallback_commands`, `key_commands`, `model_option_commands`: `/model fallback`, `key`, `option`.
- `stored_chains`: the model chain of a server or channel; `model_input_checks`: checks what users
  type into these commands.
"""

from __future__ import annotations

from oshaberi.bot.commands.models import fallback_commands, key_commands, model_option_commands
from oshaberi.bot.commands.models.model_commands import model

__all__ = ["COMMANDS", "fallback_commands", "key_commands", "model_option_commands"]

COMMANDS = (model,)
