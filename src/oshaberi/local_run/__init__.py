"""The bot without Discord: a stage, a rehearsal model and the bot itself, in one process.

`perform(settings, environ, ...)` is `oshaberi run` without a token.
"""
