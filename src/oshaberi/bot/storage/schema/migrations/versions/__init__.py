"""One step per file. A released step is never changed."""
