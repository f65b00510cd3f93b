"""The bot without Discord: a stage, the demo model and the bot in one process.

`perform(settings, environ, ...)` (`startup`) is `oshaberi run` without a token. `demo_world` is the
world that a visitor sees. `model_choice` decides which model answers, with `model_sources` (what
can be connected), `model_test_call` and `uploaded_pictures`. `control_token` and `page_opening` let
the browser open the page, `running_turns` is for its Stop button.
"""
