"""What tools and turns share: the messages of a channel, names, a turn's settings.

- `messages`: channels, people, messages and attached files as plain values.
- `server_reading`: what is read elsewhere on the server: links, searches, events.
- `transcript`: how messages are written down for a model, under names that cannot be mistaken for
  others; and so what a persona may be called.
- `answer_buttons`: the buttons under an answer, as values.
- `turn_config`: the settings of a turn.
- `persona_options`: what one persona does differently from them.
- `time_zones`: time zones by name.
"""
