"""Writes of all turns of a process, grouped into few transactions.

- `write_entries`: what somebody wants written, as values; equal statements are run together.
- `batch_runners`: how many entries become one transaction, on SQLite and on PostgreSQL.
- `group_commit`: the queue in front of them, and the task that empties it.
"""
