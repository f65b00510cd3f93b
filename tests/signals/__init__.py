"""Signals at any moment of the life of `oshaberi run`."""
