"""Anthropic's Messages API: `body` builds a request, `events` reads the stream,
`adapter` joins them.
"""
