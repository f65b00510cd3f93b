"""After an answer: `post_turn_effects` runs `shown_reasoning`, `thought_log` and what is stored."""
