"""One repository for each kind of record.

An async method that writes returns when its change is durable. The other methods queue a change,
or return it as an entry for `storage.group_commit`.
"""
