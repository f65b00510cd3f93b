"""What all turns of a process share, in one object (`turn_services`).

- `turn_slots`: how many turns run at once, and which is next.
- `models`: the models that may answer, which of their keys pause after a failure, and which models
  do not answer at the moment.
- `lore_shelf`: the lorebooks of each server.
- `adapter_pool`: the adapters that ask them.
"""
