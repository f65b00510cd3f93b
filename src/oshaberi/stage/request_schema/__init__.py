"""Checks requests against Discord's official description of its API.

`tools/discord_constraints.py` makes the table `constraints.json` from that description;
`constraint_table` reads the table, `field_problems` compares one value with it, `request_check`
compares a whole request and refuses it.
"""
