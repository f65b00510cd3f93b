"""Who is answered, as whom, and when.

`admission_rules` decides about a message, `persona_routing` chooses the personas, `channel_queue`
keeps what waits in a channel, `follow_up_policy` decides what a further message does to it,
`open_questions` stores it, `turn_slots` limits how many run at once, `turn_slot_wait` waits for
that.
"""
