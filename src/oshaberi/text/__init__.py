"""Steps 05-07a: text in pieces goes in, finished Discord messages come out. No I/O.

`text_engine` runs `intake` → `segments` → `normalize` → `messages`, with the settings in
`text_config`; `segment_pipeline` takes each segment from the second to the last. Shared by all:
`atoms` (what is never cut), `markers` (brackets, quotes, emphasis), `text_measure` (lengths),
`sentences`, `line_kinds`, `code_block_splitting`, `markdown_tables`, `think_tags`.
`decision_observer` reports each decision to whoever listens. All of it can be compiled with mypyc:
`copied_state` and `mypyc_attributes` say what that needs.
"""
