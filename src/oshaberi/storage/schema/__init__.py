"""The tables (`table_rows`, `column_types`) and how a database gets them (`migration_runner`,
`migrations`).
"""
