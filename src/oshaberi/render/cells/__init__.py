"""One table cell: `cell_markdown` and `emphasis_pairs` parse it, `line_shaping` measures it."""
