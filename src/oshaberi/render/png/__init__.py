"""A table as PNG files: `page_layout` places everything, `page_drawing` draws it in
`discord_colours`; `table_png` is the way through.
"""
