"""What the model is shown.

`context_gathering` collects it (`turn_surroundings`), `context_building` makes context items of it:
`system_text`, `context_notes`, `history_summary`, `context_dialogue`. `message_attribution` finds
which persona wrote an old message; `persona_cache` keeps each server's personas.
"""
