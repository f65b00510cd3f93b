"""The bot without Discord: a stage, the demo model and the bot in one process.

`perform(settings, environ, ...)` is `oshaberi run` without a token.
"""
