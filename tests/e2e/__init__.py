"""The whole bot, as it runs: real discord.py on a stage, models on real sockets, a database."""
