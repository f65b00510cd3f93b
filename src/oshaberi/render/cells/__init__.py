"""One table cell: `cell_markdown` and `emphasis_pairs` parse it, `line_shaping` measures it,
`grapheme_clusters` keeps characters whole.
"""
