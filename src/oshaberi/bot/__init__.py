"""The bot: everything that only the bot needs. A library user imports nothing from here.

- `wiring` opens the parts in order, and closes them again. `bot_context` holds what client,
  commands and status page use.
- `config`: the settings. `storage`: what outlives a process. `conversation`: people, messages
  and channels as values. `tools`: what a model may call. `characters`: cards of personas.
- `schedules`: when reminders and tasks are due. `initiative`: what the bot does by itself.
- `turns`: from an admitted message to a delivered answer. `faces`: the pictures of personas.
- `client` (Discord), `commands`, `coordination` (several processes), `recovery` (after a
  restart).
- `logs`, `observability` and `status_page` tell operators what the bot does; `operator_endpoint`
  serves the last two over HTTP. `data_retention` deletes data that is too old or too much.
  `clocks`: the wall clock and the event loop's.
- `moving`: a server's data as an archive, which another instance reads.
- `local_run`: the bot on a stage, without Discord.
"""
