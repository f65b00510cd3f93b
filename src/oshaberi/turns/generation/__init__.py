"""From a context to an answer.

`tool_loop` streams and runs tools until the model is done. Each stream goes through
`model_generation`: the next model and key (`model_chain`, `key_cooldowns`, `overload_wait`), its
adapter (`adapter_pool`), the request (`request_building`) and the text engine's settings
(`engine_config`). `history_condensing` summarises what does not fit, `continued_answer` goes on
with an answer that ran out of tokens, `reply_mode` decides which messages
reply, `drawn_tables` keeps the sources of table pictures.
"""
