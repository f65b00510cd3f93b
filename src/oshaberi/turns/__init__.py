"""One turn: from an admitted message to a delivered answer and what is remembered of it."""
