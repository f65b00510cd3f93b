"""Groups the writes of all turns of a process into few transactions.

- `batch_runners`: write many entries (`storage.write_entries`) in one transaction, on SQLite and on
  PostgreSQL.
- `group_commit`: the queue in front of them, and the task that empties it.
"""
