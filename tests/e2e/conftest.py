"""Loads what takes long before the first test: discord.py, past the one warning of its import on
Python 3.11, and the models' SDKs, which the bot loads while somebody waits for an answer."""

from __future__ import annotations

import importlib
import io
import logging
import warnings
from collections.abc import Iterator

import pytest

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "'audioop' is deprecated", DeprecationWarning)
    importlib.import_module("discord")
importlib.import_module("openai")


@pytest.fixture(autouse=True)
def nothing_is_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever people, models and tools do: no traceback, no task that failed unseen."""
    yield
    errors = [one for one in caplog.get_records("call") if one.levelno >= logging.ERROR]
    wrong = [one for one in errors if one.exc_info or one.name == "asyncio"]
    assert [one.getMessage() for one in wrong] == []


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """Everything that is logged, as JSON lines."""
    from tests.e2e.operator_log import json_log

    with json_log() as out:
        yield out


@pytest.fixture(autouse=True)
def levels_stay() -> Iterator[None]:
    """A bot whose settings are read again sets the level of its logs, for the whole process."""
    ours = logging.getLogger("oshaberi")
    before = ours.level
    yield
    ours.setLevel(before)


@pytest.fixture(autouse=True)
def _whatever_the_pace(lines_stay_apart: None) -> None:
    """A test can say how many messages there are."""
