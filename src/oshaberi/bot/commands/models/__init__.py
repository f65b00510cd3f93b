"""`/model`: which models answer in a server or a channel, and with which keys.

- `model_commands`: `/model show`, `set`, `reset` and `relearn`, and how a chain is read, stored and
  checked.
- `option_commands`: `/model option` and `/model fallback`. `key_commands`: `/model key`.
"""

from __future__ import annotations

from oshaberi.bot.commands.models import key_commands, option_commands
from oshaberi.bot.commands.models.model_commands import model

__all__ = ["COMMANDS", "key_commands", "option_commands"]

COMMANDS = (model,)
