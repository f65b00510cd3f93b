"""The Discord half of stage 07: real channels, threads and DMs as sinks. Needs discord.py.

    board = Switchboard(client)             # one per client, in `setup_hook`
    client.event(board.on_message)          # or from the bot's own `on_message`
    sink = board.sink(message.channel, answering=message)
    result = await stream_to_sink(provider, request, config, context, sink)

Make the client with `http_trace=RequestTrace()`: then a send that still waits for a rate limit can
be withdrawn, none returns late, and discord.py repeats no request behind the sender's back.
"""

from __future__ import annotations

from oshaberi.discord_io.directory import bot_name, emojis_of, known_people
from oshaberi.discord_io.embeds import notice_embed, thought_log_embed
from oshaberi.discord_io.exchange import RequestTrace
from oshaberi.discord_io.forms import MENTIONS
from oshaberi.discord_io.refusals import TokenRevokedError
from oshaberi.discord_io.sink import DiscordSink
from oshaberi.discord_io.switchboard import Switchboard

__all__ = [
    "MENTIONS",
    "DiscordSink",
    "RequestTrace",
    "Switchboard",
    "TokenRevokedError",
    "bot_name",
    "emojis_of",
    "known_people",
    "notice_embed",
    "thought_log_embed",
]
