"""Stages 05-07a: text in pieces goes in, finished Discord messages come out. No I/O.

`text_engine` runs `intake` → `segments` → `normalize` → `messages`, with the settings in
`text_config`. Shared by all: `atoms` and `span_scan` (what is never cut), `text_measure`
(lengths), `sentences`, `line_kinds`, `code_blocks`, `markdown_tables`. `decision_observer` reports
each decision to whoever listens.
"""
