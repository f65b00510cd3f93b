"""One turn: from an admitted message to a delivered answer and what is remembered of it.

`channel_turns` accepts messages (`submit`) and commands, for all channels of a process. The parts
follow the order of a turn, and each imports only those before it:

- `services`: what all turns of a process share.
- `personas`: which personas a text calls (`name_calls`: by name), and which one wrote an old
  message.
- `admission`: whether a message is answered and as which persona, and what waits in its channel.
- `context`: what the model is shown.
- `quotas`: whether the model may be asked.
- `generation`: the model's answer, with tools.
- `post_turn`: what is stored afterwards.
- `running`: runs all of this, for one persona after the other.

Then `turn_control` carries out commands: stop, continue, regenerate, delete, why. Their users get a
`control_reply`. `answer_versions` keeps the versions of an answer and shows one in place of
another.

`own_threads` opens threads for single conversations, and says where the conversation of a channel
begins.

Several parts use: `caches`, `notices` (what people see of a turn besides its answer), `thoughts`
(those of the model, shown and logged) and `outcome` (how a turn ended, how long it took, and its
line in the log).
"""
