"""The personas of a server, and which of them a text is about.

- `persona_cache`: each server's personas, until they are changed.
- `trigger_words`: finds whom a text calls.
- `message_attribution`: finds who wrote one of the bot's old messages.
"""
