"""Stage 07b in virtual time."""
