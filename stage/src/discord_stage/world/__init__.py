"""The Discord world in memory: what exists, not what happens in it (`world_changes`).

- `records`: users, guilds, channels, messages, interactions; `world_state`: all of them.
- `description`: builds a world from a short description, whose values (`described_values`) know
  their place.
- `permissions`: who may do what; `event_bus`: passes events to listeners; `ids`: snowflakes, and
  which message a nonce created; `record_json`: records as JSON and back.
"""
