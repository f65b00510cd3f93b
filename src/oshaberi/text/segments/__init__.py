"""Step 05b: where a segment of V ends, and why.

- `splitter` hands V to a reader: `prose`, `code` or `tables`. `buffer`: the part of V that has
  not left yet.
- `lines`: what is known of the line being read, and of an unfinished URL.
- `release`: how a segment leaves, and where it is cut when there is no boundary.

What is open (`text.markers`) delays a boundary.
"""
