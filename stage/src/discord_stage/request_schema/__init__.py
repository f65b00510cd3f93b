"""Checks requests against Discord's official description of its API.

`discord_stage.make_constraints` makes the table `constraints.json` from that description; `check`
compares a request with it, and refuses it.
"""
