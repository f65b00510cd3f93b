"""Lets several processes of one bot share the work.

- `process_coordination`: decides which process answers a message and which runs a channel's turn; a
  single process does that in memory.
- `redis_coordination`: the same for several processes, through Redis; `redis_calls` does what every
  call to Redis needs.
- `redis_request_budget`: shares Discord's limits between the processes.
- `shard_keeper`: keeps this process's share of the shards; `fair_shares` says how many that are,
  `identify_queue` when one may connect.
- `shard_lease_table`: the interface to the leases on shards; `redis_shard_leases` keeps them in
  Redis, and says how long they last.
"""
