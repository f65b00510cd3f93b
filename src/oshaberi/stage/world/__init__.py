"""The Discord world in memory and what can happen in it.

- `discord_records`: users, guilds, channels, messages; `world_state`: all of them.
- `description`: builds a world from a short description.
- `people_actions`: what people do; `message_posting`, `reaction_changes`, `poll_changes`,
  `guild_changes`, `world_changes`: what becomes of it, by `permissions`, `mention_rules` and
  `content_filters`.
- `event_bus`: tells whoever listens; `snowflakes` and `nonces`: ids.
"""
