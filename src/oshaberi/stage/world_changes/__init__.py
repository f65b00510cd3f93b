"""What happens in the world, and the gateway event that each change sends.

`message_posting`, `reaction_changes`, `poll_changes`, `channel_changes` (webhooks and typing too)
and `member_changes` make the changes, `content_filters` refuse messages, `audit_log` records who
changed a guild.
"""
