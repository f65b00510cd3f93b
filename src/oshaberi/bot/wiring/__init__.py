"""Opens the parts of the bot in order, and closes them again.

`bot_wiring` does that: `services` (database, Redis, what turns share), `client_wiring` (the
client and the recovery). `shutdown_signals` catches the signals that end the bot.
"""
