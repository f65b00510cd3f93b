"""Checks requests against Discord's official description of its API.

`constraints.json` is a table of facts that `tools/discord_constraints.py` makes from it;
`constraint_table` reads the table, `field_problems` compares one value with it, `request_check`
compares a whole request and refuses it.
"""
