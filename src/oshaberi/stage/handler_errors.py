"""Notices exceptions that discord.py catches in a bot's handlers and only logs.

An event, command, button or form whose handler raises looks like a bot that says nothing. In a
test that is a failure. What the bot's own error handlers take care of is never logged, and wrong
input of a person (an unknown command, a failed check) is no exception of a handler.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOGGER = "discord"
_STARTS = ("Ignoring exception", "Unhandled exception")
_OF_PEOPLE = frozenset({"CommandError", "AppCommandError"})


class HandlerErrorWatch(logging.Handler):
    """Tells of each: its place, and the traceback."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        said = record.getMessage()
        if error is None or not said.startswith(_STARTS) or _is_of_people(error):
            return
        lines = "".join(traceback.format_exception(error)).rstrip()
        self._tell(f"the bot raised an exception ({said}):\n{lines}")


def _is_of_people(error: BaseException) -> bool:
    """Tell whether a user's mistake caused it. If the bot's own code did, it has an `original`."""
    names = {base.__name__ for base in type(error).__mro__}
    return bool(names & _OF_PEOPLE) and not hasattr(error, "original")


@contextmanager
def watching_handlers(tell: Callable[[str], None]) -> Iterator[None]:
    logger, watch = logging.getLogger(LOGGER), HandlerErrorWatch(tell)
    logger.addHandler(watch)
    try:
        yield
    finally:
        logger.removeHandler(watch)
