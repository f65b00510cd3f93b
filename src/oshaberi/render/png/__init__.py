"""A table as PNG files.

`page_layout` places everything, `line_wrapping` wraps the text of a cell, `page_drawing` draws it
in `discord_colours`; `table_png` runs all of them.
"""
