"""What the model is shown.

`surroundings` collects it; `elsewhere` reads link targets and the beginning of a thread. `building`
turns it into context items: the system text, the `character` with its lore, notes, a summary, and
the `dialogue`.
"""
