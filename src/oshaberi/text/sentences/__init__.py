"""Where sentences end.

`sentence_end_search` finds the places (`sentence_spot`), `sentence_end_rules` decide, with
`abbreviations`; `inline_lists` finds the items of a list that is written in one line.
"""
