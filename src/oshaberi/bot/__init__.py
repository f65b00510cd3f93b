"""The bot: a Discord client, its commands, and the wiring of everything else.

- `wiring` puts the parts together, and takes them apart again.
- `client` (Discord), `commands`, `settings`, `coordination` (several processes), `recovery` (after
  a restart), `observability` and `status_page` behind one `operator_endpoint`. `bot_context` is
  what client, commands and status page work with.
- `bot_tools` are the tools of this bot. `data_retention` deletes what is too old or too much;
  `old_direct_message_keys` finds owners for keys of older versions.
"""
