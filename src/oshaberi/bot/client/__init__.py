"""The bot's connection to Discord.

In: gateway events. Out: `IncomingMessage` values, and a `DiscordTurnChannel` to answer in.

- `discord_client`: the discord.py client; hands every message on.
- `login_errors`: explains why the bot cannot connect.
- `movable_shards`: takes on and gives up single shards while the client runs.
- `gateway_state`: which shards are connected.
- `incoming_messages`: turns a Discord message into values; `discord_people` its people,
  `proxied_messages` finds whose words a proxy bot repeats.
- `attached_text`: reads small text files that came with a message.
- `discord_turn_channel`: a Discord channel with the methods a turn needs.
- `channel_places`: in which category a channel is, and whether it was deleted.
- `channels_of_other_shards`: fetches a channel whose server another process serves.
- `deleted_messages`: what is done when people delete messages.
- `unanswered_log`: tells operators of questions that get no answer.
- `unanswered_search`: looks for unanswered questions when the bot gets ready; `missed_messages`
  finds messages that arrived while the bot was away.
"""
