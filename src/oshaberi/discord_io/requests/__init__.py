"""One request to Discord: how it is built, watched and read.

- `parameters`: the parameters of a send, a webhook send and an edit.
- `watch`: follows discord.py's request on the network and returns its answer.
- `answers`: reads a success, turns Discord's errors into ours.
- `limits`: how many requests Discord allows. `guards`: what holds requests back. `rest_outage`:
  whether Discord answers at all.
- `meter`: measures how long Discord takes, and counts its refusals.
- `typing_requests`: shows the typing indicator, if it is needed and there are requests to spare.
- `api_address`: sends requests to a proxy instead of Discord.
"""
