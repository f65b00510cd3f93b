"""Slash commands, buttons and modals. `interaction_flow` follows one from start to end.

`data` builds what the bot receives, with `entered_values` (what the user typed and chose) and
`targets` (the people, channels and files in them).
"""
