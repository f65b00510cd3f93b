"""Characters as others write them: cards, their carriers, lorebooks, macros.

Functions over bytes and values: no network, no database. Reading a large card takes
long enough to be done in a thread.

- `cards`: the value `Card`, checked from the JSON of Character Card V1, V2 and V3; written as V3.
- `card_files`: PNG, APNG, JSON, CHARX and sprite packs as bytes, read within bounds, and written.
- `macros`: `{{char}}`, `{{random:a,b}}` and the like. `prompt`: what a model is told of a card.
- `lorebooks`: entries that wake when they are spoken of, in all forms of files. `lore_scan`: which
  of them wake, and for which there is room.
- `persona_cards`: a card becomes a persona with its lorebook, and back; the preview of an import.
- `work_limits`: limits on the uploads that a process holds in memory.
"""
