"""Sinks without Discord: `recording_sink` keeps messages in memory, `scripted_faults` breaks it."""
