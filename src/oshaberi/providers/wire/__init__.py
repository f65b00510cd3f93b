"""Steps 02-03: what all families share between bytes and chunks.

- `sdk_loading`: loads an SDK; `sse_decoder`: bytes to events; `error_reading`: reads errors.
- `wire_event_steps`: what one event can say; `chunk_assembler` makes chunks of steps, with
  `tool_call_assembly`, `signed_blocks`, `reasoning_tail`, `cited_pages` and `text_outlet`, which
  ends the text by `stop_string_cut` and `speaker_holdback`.
- `actionable_errors`: adds hints to errors.
"""
