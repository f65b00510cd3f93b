"""Imports discord.py once, past the one warning that its import gives on Python 3.11."""

from __future__ import annotations

import importlib
import warnings

import pytest

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "'audioop' is deprecated", DeprecationWarning)
    importlib.import_module("discord")

_ROOM = importlib.import_module("oshaberi.discord_io.sink").DiscordSink.room


@pytest.fixture(autouse=True)
def _whatever_the_pace(lines_stay_apart: None) -> None:
    """A test can say how many messages there are."""


@pytest.fixture
def buckets_are_known(_whatever_the_pace: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Discord's headers say is known after all, so lines may be joined before they leave."""
    monkeypatch.setattr("oshaberi.discord_io.sink.DiscordSink.room", _ROOM)
