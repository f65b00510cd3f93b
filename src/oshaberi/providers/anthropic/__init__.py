"""Anthropic's Messages API.

`anthropic_request_body` builds a request (`anthropic_thinking_fields`), `anthropic_wire_events`
reads the stream, `anthropic_adapter` joins them; `paused_turn` continues after `pause_turn`.
"""
