"""The bot: a Discord client, its commands, and the wiring of everything else.

`wiring` opens and closes the parts in order: `client` (Discord), `commands`, `coordination`
(several processes, crashes), `observability`. `live_settings` has the settings in force,
`operator_defaults` what the operator configured for all servers, `shutdown` the signals.
`data_retention` deletes what is older than the operator promised.
"""
