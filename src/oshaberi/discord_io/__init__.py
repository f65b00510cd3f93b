"""The Discord half of step 07: real channels, threads and DMs as sinks. Needs discord.py.

    state = ClientState(client)             # one per client, in `setup_hook`
    client.event(state.on_message)          # or from the bot's own `on_message`
    sink = state.sink(message.channel, answering=message)
    result = await stream_to_sink(provider, request, config, context, sink)

An answer may ping the author of that message, the users it mentions, and roles that the author may
mention; pass a `MentionPolicy` as `mentions` to allow more people.

Make the client with `http_trace=RequestTrace()`. Then a send that still waits for a rate limit can
be withdrawn, no send returns late, and discord.py repeats no request on its own. Every refusal is
counted, and the client slows down before Discord bans it for invalid requests (`BanGuard`). It also
keeps the global limit of requests per second (`RequestBudget`).
"""

from __future__ import annotations

from oshaberi.discord_io.channels import MentionPolicy, bot_name, emojis_of, known_people
from oshaberi.discord_io.requests.answers import TokenRevokedError
from oshaberi.discord_io.requests.guards import BanGuard, LeaseFence
from oshaberi.discord_io.requests.limits import RequestBudget
from oshaberi.discord_io.requests.parameters import notice_embed
from oshaberi.discord_io.requests.watch import RequestMeter, RequestTrace
from oshaberi.discord_io.sink import ClientState, DiscordSink

__all__ = [
    "BanGuard",
    "ClientState",
    "DiscordSink",
    "LeaseFence",
    "MentionPolicy",
    "RequestBudget",
    "RequestMeter",
    "RequestTrace",
    "TokenRevokedError",
    "bot_name",
    "emojis_of",
    "known_people",
    "notice_embed",
]
