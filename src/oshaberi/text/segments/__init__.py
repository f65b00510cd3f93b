"""Step 05b: where a segment of V ends, and why.

- `segment_splitter` hands V to a reader (`reader_protocol`): `prose_reader`, `code_reader` or
  `table_reader`.
- `block_opening`: where prose gives way to code or a table.
- `visible_buffer`: the part of V that has not left yet.
- `current_line`, `line_breaks`: what is known of the line being read; `unfinished_url`: of a URL.
- `overflow_cuts`: where to cut when there is no boundary.
- `segment_release`: how a segment leaves; at a forced flush `clause_trimming` cuts off half a
  clause.

What is open (`text.markers`) delays a boundary.
"""
