"""Changes of a guild that its bots and people make: members, bans, roles, and the audit log."""
