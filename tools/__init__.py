"""Scripts that write files of the project from something outside it."""
