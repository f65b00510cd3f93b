"""The tables (`table_rows`), who owns their rows (`ownership`), and their migrations.

`migration` says which `migrations` have to be run and runs them, after it has copied a SQLite
file.
"""
