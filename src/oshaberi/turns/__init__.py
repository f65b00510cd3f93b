"""One turn: from an admitted message to a delivered answer and what is remembered of it.

What others call:

- `services.Services`: what all turns share (settings, stops, adapters, tools, store, journal, the
  operator's models and persona). `services.Link` is a model of the operator's settings.
- `adapters.AdapterPool(connect, limit)`: provider adapters; `aclose()` at the end.
- `conversations.Conversations(services, claim=None)`, one per process:
  `await submit(incoming, room)` says in one word why a message is answered or not;
  `stop(channel_id, by, may_manage)`, `await continue_(room, by)`, `await regenerate(room, by)`,
  `await delete(room, message_id, by)` answer with a `Reply(ok, text)`; `await why(message_id)` with
  a sentence; `is_busy(channel_id)`, `running()`, `waiting()`; `await idle()`;
  `await shutdown(grace_s)`.
- `room.Room`, `values`: the channel and its messages, as the bot hands them in.
- `witness.StreamWitness`: told of every stream.

Inside: `admission` and `routing` decide, `job` and `performance` run what waits in a channel, and
`turn` is one persona's answer: `gathering`, `context`, `generation` in a `tool_loop`, `aftermath`.
"""
