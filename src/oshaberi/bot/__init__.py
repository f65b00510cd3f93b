"""The bot: a Discord client, its commands, and the wiring of everything else.

- `wiring` opens the parts in order, and closes them again.
- `client` (Discord), `commands`, `settings`, `coordination` (several processes), `recovery` (after
  a restart), `observability` and `status_page`. `operator_endpoint` serves the last two over HTTP.
  `bot_context` holds what client, commands and status page use.
- `bot_tools` opens the tools of the bot. `data_retention` deletes data that is too old or too much;
  `old_direct_message_keys` finds the owners of keys that older versions stored.
"""
