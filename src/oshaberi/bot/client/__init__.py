"""The bot's connection to Discord.

In: gateway events. Out: `IncomingMessage` values, and a `DiscordTurnChannel` to answer in.

- `discord_client`: the discord.py client; hands every message on.
- `gateway_intents`: which events the bot asks Discord for.
- `login_errors`: explains why the bot cannot connect.
- `shards`: the shards of the client, and which of them are connected.
- `message_reader`: turns a Discord message into values; `message_text` its text and files,
  `discord_people` its people, `proxied_messages` finds whose words a proxy bot repeats.
- `attached_text`: reads small text files that came with a message.
- `discord_turn_channel`: a Discord channel with the methods a turn needs.
- `past_messages`: what was said in a channel before.
- `channel_places`: in which category a channel is, and whether it was deleted.
- `deleted_messages`: what is done when people delete messages.
- `unanswered_log`: tells operators of questions that get no answer.
- `unanswered_search`: looks for unanswered questions when the bot gets ready; `missed_messages`
  finds messages that arrived while the bot was away.
"""
