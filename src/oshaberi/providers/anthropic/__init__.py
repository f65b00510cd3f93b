"""Anthropic's Messages API.

`anthropic_request_body` builds a request, `anthropic_wire_events` reads the stream,
`anthropic_adapter` joins them; `paused_turn` continues an answer after `pause_turn`.
"""
