"""Records as Discord writes them in JSON, for REST and gateway."""
