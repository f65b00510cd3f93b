"""One request to Discord: how it is built, watched and read.

- `parameters`: the parameters of a send, a webhook send and an edit.
- `watch`: follows discord.py's request on the network, times it and returns its answer; can send
  all requests to a proxy instead of Discord.
- `answers`: reads a success, turns Discord's errors into ours, notices an outage.
- `limits`: how many requests Discord allows. `guards`: what holds requests back.
"""
