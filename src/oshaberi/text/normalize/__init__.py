"""Step 06: what is done to a segment's text before it becomes messages.

`normalizer_table` runs the rules in their order (spec 06) over the pieces of a segment
(`segment_pieces`), outside code and URLs (`editable_ranges`). `names/` has labels and mentions,
`emoji/` emoji; `html_breaks`, `rule_lines`, `stray_tags` and `uncensor` clean the rest.
"""
