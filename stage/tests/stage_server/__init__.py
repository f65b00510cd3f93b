"""The local stage, driven by the real discord.py."""
