"""What several processes of one bot agree on, and what a lost process left behind.

- `process_coordination`: who answers a message and which turn a channel runs; alone, in memory.
- `redis_coordination`: the same for several processes, through Redis; `redis_calls` does what
  every call to Redis needs.
- `redis_request_budget`: shares Discord's limits between the processes.
- `shard_keeper`: keeps this process's share of the shards; `fair_shares` says how many these are,
  `identify_queue` when one may be connected.
- `shard_lease_table`: what the keeper asks about leases on shards; `redis_shard_leases` keeps them
  in Redis, and says how long they last.
- `crash_recovery`: after a crash, finishes or reports the messages in this process's journal;
  `post_recovery` finds each of them in its channel, or sends it.
- `question_recovery`: after any end, answers the questions that waited, or says why not.
- `orphaned_journals`: does the same for a process that never came back.
"""
