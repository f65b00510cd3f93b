"""The inspector: shows why a stream became these messages.

`trace` (`stream_trace`) describes a recorded stream, `replayed` what it becomes at another degree.
`engine_recorder` runs the engine again; `hold_times`, `raw_stream_positions`, `message_origins` and
`text_location` find which text became which message; `message_reasons`, `decision_steps` and
`decision_words` explain it in sentences.

`StreamLog` (`stream_log`, `logged_stream`) keeps the streams of a running bot, `recorded_sends`
finds what was really sent. `inspector_api` is the inspector's part of the control API.
"""

from __future__ import annotations

from oshaberi.inspector.stream_log import StreamLog
from oshaberi.inspector.stream_trace import replayed, trace

__all__ = ["StreamLog", "replayed", "trace"]
