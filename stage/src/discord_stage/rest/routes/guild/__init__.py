"""Routes of a guild, one file for each kind of thing that a guild has."""
