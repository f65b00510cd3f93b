"""What the model is shown.

`context_gathering` collects it (`turn_surroundings`), `context_building` makes context items from
it: `system_text`, `context_notes`, `summary_prompt`, `context_dialogue`.
"""
