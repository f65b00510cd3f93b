"""What happens in the world, and the gateway event that each change sends.

`message_posting`, `reaction_changes` (polls too), `channel_changes` (webhooks and typing too)
and `member_changes` make the changes, `audit_log` records who changed a guild.
"""
