"""Which settings apply: the operator's, a server's, a channel's.

- `operator_defaults`: what the operator configured for all servers.
- `current_settings`: what is in force now.
- `cache_invalidation`: drops cached values that this or another process changed.
"""
