"""Notices exceptions that discord.py catches in a bot's handlers and only logs.

If the handler of an event, command, button or form raises, the bot just seems to say nothing. In a
test that is a failure. Exceptions that the bot's own error handlers take care of are never logged,
and a person's wrong input (an unknown command, a failed check) does not count as one.
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
    """Calls `tell` with each exception: where it was raised, and the traceback."""

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
    """Tell whether a user's mistake caused it. An error of the bot's code has an `original`."""
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
