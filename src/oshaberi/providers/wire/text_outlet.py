"""Passes an answer's text on, up to a stop string or another speaker's label."""

from __future__ import annotations

from collections.abc import Sequence

from oshaberi.providers.request.model_request import Request
from oshaberi.providers.wire.speaker_holdback import SpeakerHoldback
from oshaberi.providers.wire.stop_string_cut import StopStringCut

SPEAKER_GUARD = "speaker_guard"
STOP = "stop"


class TextOutlet:
    """Takes text and returns what may be shown; `ended_by` is the finish reason once it ended."""

    def __init__(self, request: Request, stops: Sequence[str] = ()) -> None:
        self.ended_by: str | None = None
        self._cut = StopStringCut(stops) if stops else None
        self._holdback: SpeakerHoldback | None = None
        if request.speaker_guard:
            self._holdback = SpeakerHoldback(request.speakers, request.holdback_chars)
        self.is_plain = self._cut is None and self._holdback is None

    def feed(self, text: str) -> str:
        if self._cut is None:
            return self._guarded(text)
        out = self._guarded(self._cut.feed(text))
        if self._cut.is_found:
            out += self._released()
            self.ended_by = self.ended_by or STOP
        return out

    def finish(self) -> str:
        """Return the held-back text at the end of the stream."""
        if self.ended_by is not None:
            return ""
        held = self._cut.finish() if self._cut is not None else ""
        return self._guarded(held) + self._released()

    def _guarded(self, text: str) -> str:
        if self._holdback is None:
            return text
        if self._holdback.found is not None:
            return ""
        return self._noted(self._holdback, self._holdback.feed(text))

    def _released(self) -> str:
        if self._holdback is None or self._holdback.found is not None:
            return ""
        return self._noted(self._holdback, self._holdback.finish())

    def _noted(self, holdback: SpeakerHoldback, out: str) -> str:
        if holdback.found is not None:
            self.ended_by = SPEAKER_GUARD
        return out
