"""Step 05a: from what the provider sent to the visible text V.

`character_intake` (newlines, surrogates) → `prefill_echo` → `captured_blocks` (think, details).
"""
