"""Discord libraries other than discord.py, as places for `oshaberi.deliver`.

- `discord_forks`: disnake, nextcord and py-cord, which have kept the names of discord.py.
- `hikari`: hikari.
- `rest_sink`: the sink of all of them: plain requests, made by the library or with a token.

Nothing here imports such a library: it is found through the object that the caller hands over.
"""
