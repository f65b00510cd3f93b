"""What the model is shown.

`surroundings` collects it, `elsewhere` what links lead to and how a thread began. `building` makes
context items from it: the system text, the `character` with its lore, notes, a summary, and the
`dialogue`.
"""
