"""Stage 04 in virtual time."""
