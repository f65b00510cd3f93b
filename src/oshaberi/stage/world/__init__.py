"""The Discord world in memory: what exists, not what happens in it (`world_changes`).

- `discord_records`: users, guilds, channels, messages; `interaction_record`: interactions;
  `world_state`: all of them.
- `description`: builds a world from a short description; `name_limits`: how long names may be.
- `permissions`: who may do what; `event_bus`: passes events to listeners; `snowflakes`: ids;
  `nonce_memory`: which message a nonce created.
"""
