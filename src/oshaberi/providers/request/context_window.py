"""Finds the size of a model's window: the most reliable known value, else the usual one."""

from __future__ import annotations

from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.request.endpoint import Endpoint


async def known_window(endpoint: Endpoint, capabilities: ModelCapabilities) -> int | None:
    """Return the window in tokens. For a local server its own value counts, not the model's."""
    if endpoint.window is not None:
        return endpoint.window
    if endpoint.ask_window is not None:
        return await endpoint.ask_window() or endpoint.usual_window
    return capabilities.window or endpoint.usual_window
