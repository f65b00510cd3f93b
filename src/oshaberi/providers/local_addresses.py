"""Tells whether an address is on the operator's own machine or network.

The admins of a server choose models by commands; they must not make the bot call addresses that
only its operator can reach.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from oshaberi.providers.provider_presets import PRESETS
from oshaberi.public_fetching import Resolve, is_public, resolve_host

_PORTS = {"http": 80, "https": 443}


async def is_local(provider: str, base_url: str | None, resolve: Resolve = resolve_host) -> bool:
    """Tell whether a provider is local: by its preset, or if an address of its host is not public.

    A host that does not resolve cannot be reached. A plugged-in family counts as local: it may run
    on this machine, or find a key of the operator by itself.
    """
    preset = PRESETS.get(provider)
    if preset is None:
        return True
    if base_url is None:
        return preset.is_local
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return True  # its host is unknown
    if not host:
        return True
    try:
        addresses = await resolve(host, port)
    except (OSError, UnicodeError):
        return False
    return not all(is_public(address) for address in addresses)
