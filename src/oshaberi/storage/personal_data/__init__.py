"""The owners of stored data: what can be exported, deleted, kept for a time, or not used.

`table_ownership` is the list of all tables. `personal_data_repository` exports and deletes by it,
`expiry_repository` deletes what is too old, `opt_out_repository` knows who is not to be read,
`departed_server_repository` which servers the bot has left.
"""
