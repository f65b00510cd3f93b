"""What the model is shown.

`gathering` collects it (`surroundings`), `building` makes context items from it: the system
text, notes, a summary, and the `dialogue`.
"""
