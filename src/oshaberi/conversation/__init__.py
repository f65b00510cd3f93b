"""What tools and turns share: the messages of a channel, the channel itself, a turn's settings.

- `conversation_messages`: people, messages and attached files as plain values.
- `transcript_lines`: how a message is written down for a model; `name_lookalikes`: which names
  could be mistaken for others.
- `persona_name_rules`: what a persona may be called.
- `channel_path`: a channel with the channel and the category above it.
- `history_visibility`: what of a channel's past a member may read.
- `turn_channel`: the protocol of a channel that a turn can read and answer in.
- `turn_config`: the settings of a turn.
"""
