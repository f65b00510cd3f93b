"""The history of the schema, step by step (`migration` runs it)."""
