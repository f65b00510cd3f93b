"""Finds what a model can do: the table, overridden by the settings, then by learned lessons."""

from __future__ import annotations

from dataclasses import replace

from oshaberi.providers.capabilities.capability_table import capabilities_of
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.request.endpoint import Endpoint, place_of


def known_capabilities(endpoint: Endpoint, family: str) -> ModelCapabilities:
    """Return the capabilities of an endpoint's model; each source overrides those before it."""
    gateway = bool(endpoint.quirks.get("gateway"))
    known = capabilities_of(family, endpoint.model, is_gateway=gateway)
    return endpoint.learned.applied(place_of(endpoint), replace(known, **endpoint.capabilities))
