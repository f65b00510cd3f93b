"""Bots that use other libraries than discord.py, in processes of their own."""
