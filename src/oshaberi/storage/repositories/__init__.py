"""One repository per kind of record. Each method is one transaction."""
