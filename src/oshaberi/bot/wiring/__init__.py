"""Puts the bot together, and takes it apart again.

`bot_wiring` opens and closes the parts in order: `process_stores` (database, Redis),
`service_wiring` (what turns share), `client_wiring` (the client and what it takes up).
`shutdown_signals` catches the signals that end it.
"""
