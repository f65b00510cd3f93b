"""One file per resource of the REST API. Each has a table of its routes."""
