"""OpenAI's Responses API.

`openai_responses_request_body` builds a request (`openai_responses_thinking_fields`),
`openai_responses_wire_events` reads the stream, `openai_responses_adapter` joins them;
`repeated_response_text` drops text that a stream sends twice.
"""
