"""Imports discord.py once, past the one warning that its import gives on Python 3.11."""

from __future__ import annotations

import importlib
import warnings

import pytest

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "'audioop' is deprecated", DeprecationWarning)
    importlib.import_module("discord")


@pytest.fixture(autouse=True)
def _whatever_the_pace(lines_stay_apart: None) -> None:
    """A test can say how many messages there are."""
