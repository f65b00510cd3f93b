"""One request to Discord: how it is built, watched and read.

- `request_forms`: the parameters of a send, a webhook send and an edit.
- `request_watch`: follows discord.py's request on the network and returns its answer.
- `discord_refusals`: turns Discord's errors into ours.
- `circuit_breaker`: stops asking in channels that keep answering 403.
"""
