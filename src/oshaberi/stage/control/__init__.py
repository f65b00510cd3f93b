"""The interface for tests and for the page.

- `control_api`: JSON over `/stage/`; `control_actions`: what it can read and do, with
  `control_values` (reads a request) and `thread_starting`.
- `live_feed`: everything that happens, over a WebSocket.
"""
