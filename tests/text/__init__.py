"""Steps 05-07a, without input or output."""
