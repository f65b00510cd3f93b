"""From a context to an answer.

`tool_loop` streams and runs tools until the model is done. Each stream goes through
`model_fallback`, which chooses the next model and key (`model_chain`, `local_model_guard`,
`overload_wait`), and `model_call`, which asks one of them (`same_model_retries` asks once more). A
call needs the request (`request_building`) and the text engine's settings (`engine_config`).
`generation_setup` has what all streams of a turn share. `history_summarising` summarises what does
not fit, `token_limit_continuation` continues an answer that ran out of tokens, `reply_mode` decides
which messages reply, `attachment_sources` keeps the sources of tables and code that became files.
"""
