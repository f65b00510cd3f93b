"""Records as Discord writes them in JSON, for REST and gateway.

`record_payloads` has users, roles, channels, guilds, webhooks and commands; `message_payloads`
has messages with their components and polls; `attachment_urls` signs the URLs of files.
"""
