"""The tables (`table_rows`, `column_types`) and how a database gets them.

`upgrade_plan` says which `migrations` are to be run, `migration_runner` runs them, after
`migration_backup` has copied a SQLite file.
"""
