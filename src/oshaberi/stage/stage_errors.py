"""The errors that the stage raises. A refusal of the API is an answer, not an error."""

from __future__ import annotations

from oshaberi.errors import OshaberiError


class StageError(OshaberiError):
    """The stage was asked for something that cannot be."""


class WorldError(StageError):
    """A world's description cannot be used. Names the place in it and the reason."""


class StageTimeoutError(StageError):
    """What was waited for did not happen in time. Names what did."""


class StageProblemsError(StageError):
    """A test ended, and the stage had been asked for what it does not know, or broke."""
