"""The fonts.

`font_faces` chooses one per character, `font_cmap` reads which characters a file has,
`grapheme_clusters` keeps characters whole, `twemoji` has the emoji.
"""
