"""Brackets, quotes and emphasis: what opens and closes them, in a stream and in a whole text.

- `marker_rules`: which character opens or closes something, and what may follow it.
- `open_markers`: which are open, and which boundaries wait for them.
- `closed_pair_scan`: the atoms, closed pairs and open markers of a complete text.
- `marker_closing`: what a forced flush appends to close those that are still open.
"""
