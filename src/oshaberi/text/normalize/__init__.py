"""Step 06: changes a segment's text before it becomes messages.

`table` runs the rules in their order (spec 06) over the `pieces` of a segment, outside code and
URLs. One rule, one file: `mentions`, `own_name`, `render_modifiers` and `speaker_guard` are
about names (with `webhook_names`), `emoji` about emoji (with `standard_emoji`); `html_tags`,
`rule_lines` and `uncensor` clean the rest.
"""
