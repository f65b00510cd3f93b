"""The bot without Discord: a stage, the demo model and the bot in one process.

`perform(settings, environ, ...)` (`startup`) is `oshaberi run` without a token. `demo_world` is
the world that a visitor sees, `demo_model` a server that plays written scenes in place of a
language model. `model_choice` decides which model answers, with `model_sources` (what can be
connected, and whether it answers). `card_drop` takes the character cards that are dropped on the
page, `window_picture` says what a model would read, `server_move` writes and reads archives of the
server. `live_bot` puts a bot on Discord from the page. `page_opening` opens the page in the
browser.
"""
