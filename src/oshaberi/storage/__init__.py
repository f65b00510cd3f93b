"""What outlives a process: servers, personas, models, keys, memories, the journal."""
