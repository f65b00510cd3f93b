"""The errors that the stage raises. A refusal of the API is an answer, not an error."""

from __future__ import annotations


class StageError(Exception):
    """The stage was asked for something impossible. The base class of all errors of the stage."""


class RefusedFieldError(StageError):
    """A value cannot be used; `field` is the name of its field in the request."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(why)
        self.field = field


class WorldError(StageError):
    """A world's description is invalid. Names the place in it and the reason."""


class StageTimeoutError(StageError):
    """An awaited event did not happen in time. The message lists the last requests."""


class StageProblemsError(StageError):
    """A test ended, and the bot had used an unknown route or raised, or the stage had failed."""
