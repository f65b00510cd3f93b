"""What several processes of one bot agree on.

- `process_coordination`: who answers a message and which turn a channel runs; alone, in memory.
- `redis_coordination`: the same for several processes, through Redis; `redis_calls` does what
  every call to Redis needs.
- `redis_request_budget`: shares Discord's limits between the processes.
- `shard_keeper`: keeps this process's share of the shards; `fair_shares` says how many these are,
  `identify_queue` when one may be connected.
- `shard_lease_table`: what the keeper asks about leases on shards; `redis_shard_leases` keeps them
  in Redis, and says how long they last.
"""
