"""Turns, on a channel in memory and in virtual time."""
