"""Stages 05-07a: text in pieces goes in, finished Discord messages come out. No I/O."""
