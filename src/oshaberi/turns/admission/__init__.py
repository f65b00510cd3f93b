"""Who is answered, as whom, and when.

`admission_rules` decides about a message, `persona_routing` and `trigger_words` choose the
personas, `channel_queue` keeps what waits in a channel.
"""
