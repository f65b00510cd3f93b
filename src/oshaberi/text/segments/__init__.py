"""Step 05b: where a segment of V ends, and why.

- `splitter` reads prose, and returns the segments that are complete. `blocks`: code;
  `table_blocks`: tables.
- `buffer`: the part of V that has not left yet, and `Segment`.
- `lines`: what is known about the line being read, and about an unfinished URL.
- `cuts`: how a segment leaves, and where it is cut when there is no boundary.

An open marker (`text.markers`) delays a boundary.
"""
