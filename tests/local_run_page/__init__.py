"""`oshaberi run` as a newcomer meets it: the whole program, in a real browser."""
