"""Live mode: the last message grows by edits (`delivery = "live"`).

`live_mode` decides which message grows and with what; `live_edits` makes the edits.
"""
