"""Slash commands, buttons and modals. `interaction_flow` follows one from start to end.

`interaction_data` builds what the bot receives, with `option_values` and `component_values` (what
the user typed and chose) and `resolved_targets` (the people, channels and files in them).
"""
