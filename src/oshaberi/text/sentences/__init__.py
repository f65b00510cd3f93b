"""Where sentences end.

`ends` finds the places, `end_rules` decide, with `abbreviations`.
"""
