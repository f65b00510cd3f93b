"""What all turns of a process share, in one object (`turn_services`).

- `turn_slots`: how many turns run at once, and which is next.
- `model_candidates`: the models that may answer; `adapter_pool`: the adapters that ask them;
  `key_cooldowns`: which of their keys pause after a failure; `model_outages`: which of them fail,
  for the log.
"""
