"""Step 07b in virtual time."""
