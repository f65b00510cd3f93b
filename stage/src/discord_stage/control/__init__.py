"""The interface for tests and for the page.

- `api`: JSON over `/stage/`; `actions`: what it can read and do.
- `live_feed`: everything that happens, over a WebSocket.
"""
