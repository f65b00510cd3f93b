"""Stage 07b: the engine's messages on their way into a channel."""
