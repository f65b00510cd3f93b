"""When a stream is given up: `inactivity_timer` for silence, `thinking_limit` for endless thoughts."""
