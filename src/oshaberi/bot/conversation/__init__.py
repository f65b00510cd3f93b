"""What tools and turns share: the messages of a channel, names, a turn's settings.

- `messages`: channels, people, messages and attached files as plain values.
- `transcript`: how a message is written down for a model.
- `names`: which names could be mistaken for others, and what a persona may be called.
- `turn_config`: the settings of a turn.
"""
