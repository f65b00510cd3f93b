"""Who is answered, as whom, and when.

`admission_rules` decides about a message, `persona_routing` chooses the personas, `channel_queue`
keeps what waits in a channel.
"""
