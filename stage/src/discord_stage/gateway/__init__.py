"""Discord's gateway.

`gateway_socket` speaks the protocol, `gateway_sessions` keeps the events of each session, `intents`
decides which session gets which event.
"""
