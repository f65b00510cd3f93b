"""Who owns stored data, and how it is exported and deleted.

`table_ownership` lists the owners of all tables. `personal_data_repository` exports and deletes by
that list, `expiry_repository` deletes what is too old, `opt_out_repository` knows whose messages
must not be read, `departed_server_repository` which servers the bot has left.
"""
