"""The bot without Discord: a stage, the demo model and the bot in one process.

`perform(settings, environ, ...)` (`startup`) is `oshaberi run` without a token. `demo_world` is
what a visitor finds. `model_choice` says which model answers, with `model_sources` (what can be
connected), `model_test_call` and `uploaded_pictures`. `control_token` and `page_opening` lead to
the page, `running_turns` is for its Stop button.
"""
