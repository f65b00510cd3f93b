"""Where sentences end: `sentence_ends` asks `sentence_rules`, with `abbreviations` and
`inline_lists`.
"""
