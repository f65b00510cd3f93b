"""Brackets, quotes and emphasis: what opens and closes them, in a stream and in a complete text.

- `rules`: which character opens or closes something, and what may follow it.
- `open_markers`: which are open, and which boundaries wait for them.
- `closed_pairs`: the atoms, closed pairs and open markers of a whole text, and how a forced
  flush closes the open ones.
"""
