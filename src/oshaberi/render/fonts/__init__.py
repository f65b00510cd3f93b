"""The fonts: `font_faces` chooses one per character, `font_cmap` reads which characters a file has,
`twemoji` has the emoji.
"""
