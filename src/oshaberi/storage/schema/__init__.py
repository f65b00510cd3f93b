"""The tables (`table_rows`, `column_types`) and their migrations.

`upgrade_plan` says which `migrations` have to be run, `migration_runner` runs them, after
`storage.sqlite_backups` has copied a SQLite file.
"""
