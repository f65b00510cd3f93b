"""The bot's connection to Discord.

In: gateway events. Out: `IncomingMessage` values, and a `DiscordTurnChannel` to answer in.

- `discord_client`: the discord.py client; passes every message on, explains why it cannot
  connect.
- `shards`: the shards of the client, and which of them are connected.
- `message_reader`: which messages are conversation, who wrote them, and what they say;
`discord_values`: Discord's people, places, texts and files as values; `message_parts`: polls,
stickers,
  components.
- `server_view`: what a member may read of the server besides a channel; `reading_rights`: who may
  read what.
- `turn_channel`: a Discord channel with the methods that a turn needs; `posted_answers`: the
  messages of an answer that are there already.
- `answer_reactions`: what people's reactions to an answer do.
- `unanswered`: looks for unanswered questions when the bot gets ready, and logs those that it
  finds.
"""
