"""The owners of stored data: what can be exported, deleted, kept for a time, or not used.

`table_ownership` is the list of all tables; the repositories here work from it.
"""
