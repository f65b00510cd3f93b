"""Decides whether, when and as which persona the bot answers a message.

`message_admission` decides about a message: by `admission_rules`, `user_cooldowns`,
`attention_and_interjection` and `bot_rounds`; `answer_reasons` has the reasons in words. An
`unaddressed_message` is ignored before it is read in full. `persona_routing` chooses the personas,
`channel_queue` keeps what waits in a channel, `burst_wait` waits until a question is complete,
`unbegun_questions` adds to it, `follow_up_policy` decides what a further message does,
`open_questions` stores it. The result is a `turn_request`.
"""
