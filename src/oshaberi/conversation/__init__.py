"""What tools and turns share: the messages of a channel, the channel itself, a turn's settings.

- `conversation_messages`: people, messages and attached files as plain values.
- `turn_channel`: the protocol of a channel that a turn can read and answer in.
- `turn_config`: the settings of a turn.
"""
