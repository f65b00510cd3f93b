"""One request to Discord: how it is built, watched and read.

- `request_forms`: the parameters of a send, a webhook send and an edit.
- `request_watch`: follows discord.py's request on the network and returns its answer.
- `discord_refusals`: turns Discord's errors into ours.
- `answer_checks`: finds successful answers that lack what they must have.
- `ban_guard`: counts refusals and slows the bot down before Discord bans it.
- `circuit_breaker`: stops asking in channels that keep answering 403.
"""
