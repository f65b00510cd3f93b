"""Tells caches when something in the database was changed.

- `change_feed`: the changes of this process, and those that other processes report.
- `postgres_changes`: LISTEN and NOTIFY, where there is no Redis.
"""
