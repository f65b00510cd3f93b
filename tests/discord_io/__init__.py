"""Real discord.py, real sockets, a stage instead of Discord."""
