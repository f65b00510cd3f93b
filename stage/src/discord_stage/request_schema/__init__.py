"""Checks requests against Discord's official description of its API.

`tools/discord_constraints.py` makes the table `constraints.json` from that description; `check`
compares a request with it, and refuses it.
"""
