"""Records as Discord writes them in JSON, for REST and gateway.

`record_payloads` has users, roles, channels, webhooks and commands; `guild_payloads`,
`message_payloads`, `component_payloads` and `poll_payloads` have theirs.
"""
