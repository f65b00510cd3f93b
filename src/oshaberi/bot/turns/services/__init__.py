"""What all turns of a process share, in one object (`turn_services`).

- `turn_slots`: how many turns run at once, and which is next.
- `model_access`: the models that may answer, and which of them do not answer at the moment.
- `key_cooldowns`: which API keys pause after a failure, and for how long.
- `lore_shelf`: the lorebooks of each server.
- `adapter_pool`: the adapters that ask them.
"""
