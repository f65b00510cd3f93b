"""Step 04 in virtual time."""
