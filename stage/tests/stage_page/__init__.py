"""The page in a real browser, with a real discord.py bot on the other side."""
