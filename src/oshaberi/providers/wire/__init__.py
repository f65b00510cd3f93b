"""Steps 02-03: what all families share between bytes and chunks.

- `json_post`: posts a request, for APIs without an SDK; `sse_decoder`: bytes to events.
- `errors`: reads errors, and adds hints.
- `steps`: what one event can say; `chunk_assembler` turns steps into chunks, with `tool_calls`,
  `signed_blocks`, `answer_files` (pictures and sounds) and `text_outlet`, which ends the text at a
  stop string.
"""
