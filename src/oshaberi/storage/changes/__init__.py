"""Who has cached something that is stored hears when it is changed.

- `change_feed`: the changes of this process, and what it hears of others.
- `postgres_changes`: LISTEN and NOTIFY, where there is no Redis.
"""
