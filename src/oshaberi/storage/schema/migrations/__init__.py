"""The history of the schema, step by step (migrate.py runs it)."""
