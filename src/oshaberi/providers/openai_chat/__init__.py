"""OpenAI-compatible chat completions.

`openai_chat_request_body` builds a request (`openai_chat_thinking_fields`),
`openai_chat_wire_events` reads the stream, `openai_chat_adapter` joins them.
"""
