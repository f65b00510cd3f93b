"""The inspector: shows why a stream became these messages.

`trace` (`stream_trace`) describes a recorded stream, `replayed` shows it at another degree.
`engine_recorder` runs the engine again, `message_origins` finds which text became which message,
`decisions` explains it in sentences.

`StreamLog` (`stream_log`) keeps the streams of a running bot, `recorded_sends` finds what was
really sent. `inspector_api` is the inspector's part of the control API.
"""

from __future__ import annotations

from oshaberi.inspector.stream_log import StreamLog
from oshaberi.inspector.stream_trace import replayed, trace

__all__ = ["StreamLog", "replayed", "trace"]
