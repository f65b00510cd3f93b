"""The history of the schema, step by step (`migration_runner` runs it)."""
