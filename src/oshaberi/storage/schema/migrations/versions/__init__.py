"""One step per file. A step that was released is never changed."""
