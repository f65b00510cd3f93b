"""Slash commands, buttons and modals: `interaction_flow` follows one from start to end,
`interaction_data` builds what the bot receives.
"""
