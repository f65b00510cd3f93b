"""Routes of a guild, one file for each of the things it has."""
