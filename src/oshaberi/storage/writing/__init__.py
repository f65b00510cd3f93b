"""Writes of all turns of a process, grouped into few transactions.

- `batch_runners`: how many entries (`storage.write_entries`) become one transaction, on SQLite and
  on PostgreSQL.
- `group_commit`: the queue in front of them, and the task that empties it.
"""
