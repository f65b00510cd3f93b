"""A server moves from one instance of the bot to another, in an archive."""
