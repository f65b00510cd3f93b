"""Lets several processes of one bot share the work.

- `message_claims`: which process answers a message and runs a channel's turn; a single process
  decides that in memory.
- `redis_coordination`: the same for several processes, through Redis; `redis_leases` keeps
  leases on shards and shares Discord's limits.
- `shard_shares`: how many shards a process should have, and the interface of the table of leases.
- `shard_keeper`: keeps this process's share of the shards; `reconnect_backoff`: how long a lost
  one waits.
- `cache_invalidation`: drops cached values that this or another process changed.
"""
