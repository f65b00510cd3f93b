"""Google Gemini.

`google_request_body` builds a request (`google_thinking_fields`), `google_wire_events` reads the
stream, `google_adapter` joins them; `partial_calls` assembles calls that arrive in pieces.
"""
