"""The bot, on the stage."""
