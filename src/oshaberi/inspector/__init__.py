"""The inspector: why a stream became these messages.

`trace` tells the story of a recorded stream, `replayed` what it becomes at another degree, and
`StreamLog` keeps the streams of a running bot. `inspector_api` is its part of the control API.
"""

from __future__ import annotations

from oshaberi.inspector.stream_log import StreamLog
from oshaberi.inspector.stream_trace import replayed, trace

__all__ = ["StreamLog", "replayed", "trace"]
