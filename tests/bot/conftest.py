"""Imports discord.py once, past the one warning that its import gives on Python 3.11."""

from __future__ import annotations

import importlib
import warnings

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "'audioop' is deprecated", DeprecationWarning)
    importlib.import_module("discord")
