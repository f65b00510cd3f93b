"""When a stream is given up: `inactivity_timer` (silence), `thinking_limit` (only thoughts)."""
