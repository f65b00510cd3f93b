"""What the model is shown.

`surroundings` collects it, `building` makes context items from it: the system
text, the `character` with its lore, notes, a summary, and the `dialogue`.
"""
