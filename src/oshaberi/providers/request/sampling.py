"""Chooses temperature and top_p, if the model takes them."""

from __future__ import annotations

from typing import Any

from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.request.model_request import Request
from oshaberi.providers.request.thinking_levels import thinks


def sampling(request: Request, capabilities: ModelCapabilities) -> dict[str, Any]:
    """Return the parameters that may be sent. Several thinking models refuse both."""
    both = {"temperature": request.temperature, "top_p": request.top_p}
    given = {key: value for key, value in both.items() if value is not None}
    match capabilities.sampling:
        case "allowed":
            return given
        case "never":
            return {}
        case _ if thinks(request.thinking, capabilities):
            return {}
        case "one":
            return dict(list(given.items())[:1])
        case _:
            return given
