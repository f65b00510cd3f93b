"""Discord's gateway: `gateway_socket` speaks the protocol, `gateway_sessions` keeps what
each session was sent, `intents` decides who gets which event.
"""
