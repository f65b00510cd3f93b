"""A table as text.

`code_fallback` aligns it in a code block with `monospace_text`, `alt_text` describes it for screen
readers.
"""
