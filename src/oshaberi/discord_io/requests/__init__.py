"""One request to Discord: how it is built, watched and read.

- `request_parameters`: the parameters of a send, a webhook send and an edit.
- `request_watch`: follows discord.py's request on the network and returns its answer.
- `request_meter`: measures how long Discord takes, and counts its refusals.
- `lease_fence`: holds back all requests while another process may have our shards.
- `api_address`: sends requests to a proxy instead of Discord.
- `answer_classification`: turns Discord's errors into ours.
- `success_reading`: finds successful answers that lack what they must have.
- `ban_guard`: counts refusals and slows the bot down before Discord bans it.
- `request_budget`: shares out the requests that Discord allows in a second.
- `bucket_headers`: remembers how many requests the buckets of channels still allow.
- `bucket_sweep`: removes discord.py's unused buckets.
- `typing_requests`: shows the typing indicator, if it is needed and there are requests to spare.
- `rest_outage`: tells whether Discord answers at all.
- `circuit_breaker`: stops requests to channels that keep answering 403.
"""
