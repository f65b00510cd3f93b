"""The bot: a Discord client, its commands, and the wiring of everything else.

- `wiring` opens and closes the parts in order: `process_stores` (database, Redis), `service_wiring`
  (what turns share), `client_wiring` (the client and what it takes up). `shutdown_signals`
  catches the signals that end it.
- The parts are `client` (Discord), `commands`, `coordination` (several processes, crashes),
  `observability` and `status_page` behind one `operator_endpoint`. `bot_context` is what client,
  commands and status page work with.
- `operator_defaults` is what the operator configured for all servers, `current_settings` what is in
  force now, `channel_settings` what applies in a channel. `cache_invalidation` forgets what was
  changed.
- `bot_tools` are the tools of this bot. `data_retention` deletes what is older than the operator
  promised, `database_pruning` what is too much; `old_direct_message_keys` finds owners for keys of
  older versions.
"""
