"""Steps 05-07a: text in pieces goes in, finished Discord messages come out. No I/O.

`engine` runs `intake` and `captured_blocks` → `segments` → `normalize` → `messages`, with the
settings in `config`. Shared by all: `atoms` (what is never cut), `markers` (brackets, quotes,
emphasis), `measure` (lengths), `character_search` (how far a reader can skip ahead), `sentences`,
`line_kinds`, `code_block_splitting`, `markdown_tables`. `silence` works before the engine: it
removes the marker by which a model says nothing. `decision_observer` reports each decision to
whoever listens. All of it can be compiled with mypyc; `copied_state` and `mypyc_attributes` are
needed for that.
"""
