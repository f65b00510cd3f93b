"""Live mode: the last message grows by edits (`delivery = "live"`).

`live_mode` decides which message grows and with what; `edit_pace` says when it
may be edited; `live_edits` makes the edits; `live_growth` shows unfinished text meanwhile.
"""
