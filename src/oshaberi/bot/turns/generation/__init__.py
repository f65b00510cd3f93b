"""From a context to an answer.

`tool_loop` streams and runs tools until the model is done. Each stream goes through `fallback`,
which chooses the next model and key, and `model_call`, which asks one of them.
`history_summarising` summarises what does not fit. `side_requests` asks a model for something small
that is not an answer, such as a `character_draft`.
"""
