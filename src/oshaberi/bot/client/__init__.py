"""The bot's connection to Discord.

In: gateway events. Out: `IncomingMessage` values, and a `DiscordTurnChannel` to answer in.

- `discord_client`: the discord.py client; passes every message on.
- `gateway_intents`: which events the bot asks Discord for.
- `login_errors`: explains why the bot cannot connect.
- `shards`: the shards of the client, and which of them are connected.
- `message_reader`: turns a Discord message into values. It uses `message_text` (text and files),
  `discord_people` (people) and `proxied_messages` (whose words a proxy bot repeats).
- `attached_text`: reads small text files that are attached to a message.
- `discord_turn_channel`: a Discord channel with the methods that a turn needs.
- `past_messages`: reads what was said in a channel before.
- `channel_places`: in which category a channel is, and whether it was deleted.
- `deleted_messages`: forgets messages that people delete.
- `unanswered_log`: tells operators about questions that get no answer.
- `unanswered_search`: looks for unanswered questions when the bot gets ready; `missed_messages`
  finds those that arrived while the bot was offline.
"""
