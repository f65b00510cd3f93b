"""A server moves to another instance of the bot: its data as one archive (`oshaberi data export`).

`archive` is the file, `checks` decides which rows of an archive can be imported, `move` exports and
imports.
"""
