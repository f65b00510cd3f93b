"""From a context to an answer.

`tool_loop` streams and runs tools until the model is done. Each stream goes through `fallback`,
which chooses the next model and key (`model_chain`), and `model_call`, which asks one of them
with the text engine's settings (`engine_config`). `history_summarising` summarises what does not
fit, `attachment_sources` keeps the sources of tables and code that became files.
"""
