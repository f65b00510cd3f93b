"""One turn: from an admitted message to a delivered answer and what is remembered of it.

In the order of a turn: `channel_turns` takes a message (`submit`), asks `admission` whether and as
whom to answer, and queues it; `running` runs each persona's turn: `context` → `generation` (with
tools) → `post_turn`, and `status_reactions` shows how it goes. `turn_control` does what commands
ask: stop, continue, regenerate, delete, why. `turn_services` is what all turns of a
process share; `turn_store` what they ask of the database.
"""
