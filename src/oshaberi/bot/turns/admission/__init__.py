"""Decides whether, when and as which persona the bot answers a message.

`message_admission` decides about a message by its `rules`, which have the reasons in words.
`channel_queue` keeps what waits in a channel, and knows when a question that is written in several
messages (a burst) is complete; `questions` stores it, adds to it, or takes it out. `occasions` are
what makes the bot speak by itself.
"""
