"""Adds hints to errors: the address, the end of the key, the models that exist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import NamedTuple
from urllib.parse import urlsplit

from oshaberi.chunks import ProviderError
from oshaberi.errors import Sentence
from oshaberi.providers.model_listing import can_list, list_models
from oshaberi.providers.request.endpoint import Endpoint

SHOWN_NAMES = 8
SHOWN_KEY = 4
_SHORTEST_KEY = 12
_LONGEST_NAME = 80
_MOST_COMPARED = 300
"""A server may list as many models as it likes, and comparing takes its time."""
_LISTING_PATIENCE_S = 5.0
_LOCAL = ("127.0.0.1", "localhost", "::1")


class ErrorHint(NamedTuple):
    """A hint for an error: `told` is for the log, `shown` for the channel."""

    told: str = ""
    shown: str = ""


async def explained(problem: ProviderError, endpoint: Endpoint, family: str) -> ProviderError:
    """Return the error with a hint. Only a missing model needs a request to the server."""
    if problem.type == "model_error":
        return _with(problem, await _models(endpoint, family))
    return _with(problem, _hint(problem, endpoint))


def _with(problem: ProviderError, hint: ErrorHint) -> ProviderError:
    if not hint.told:
        return problem
    shown = None if problem.shown is None else _joined(problem.shown, hint.shown)
    return replace(problem, message=_joined(problem.message, hint.told), shown=shown)


def _joined(words: str, hint: str) -> str:
    if not words or not hint:
        return words or hint
    return Sentence("{words} ({hint})", words=words, hint=hint)


def _hint(problem: ProviderError, endpoint: Endpoint) -> ErrorHint:
    came_from_a_server = isinstance(problem.raw, dict) and problem.raw.get("status") is not None
    if problem.type in ("network", "timeout") and not came_from_a_server:
        return _where(endpoint)
    return _key(endpoint) if problem.type == "auth" else ErrorHint()


def _where(endpoint: Endpoint) -> ErrorHint:
    """Return the address. The channel does not see the path: some gateways put a secret there."""
    address = shown_address(endpoint.base_url)
    if not address:
        return ErrorHint()
    parts = urlsplit(address)
    is_here = parts.hostname in _LOCAL
    return ErrorHint(_at(address, is_here), _at(f"{parts.scheme}://{parts.netloc}", is_here))


def _at(address: str, is_here: bool) -> Sentence:
    if is_here:
        return Sentence("at {address}; is the server running?", address=address)
    return Sentence("at {address}", address=address)


def _key(endpoint: Endpoint) -> ErrorHint:
    key = endpoint.api_key
    if not key:
        words = Sentence("no key was sent")
    elif len(key) < _SHORTEST_KEY:
        return ErrorHint()
    else:
        words = Sentence("the key that ends in {end}", end=key[-SHOWN_KEY:])
    return ErrorHint(words, words)


async def _models(endpoint: Endpoint, family: str) -> ErrorHint:
    """Return the models of the server. The channel sees them only if the server is a known one."""
    if endpoint.base_url is None or not can_list(family):
        return ErrorHint()
    offered = await list_models(
        family, endpoint.base_url, endpoint.api_key, endpoint.headers, _LISTING_PATIENCE_S
    )
    if not offered.names or endpoint.model in offered.names:
        return ErrorHint()
    missing = Sentence("{model!r} does not exist", model=endpoint.model)
    told = Sentence(
        "{model!r} does not exist; available: {names}",
        model=endpoint.model,
        names=names_shown(endpoint.model, offered.names),
    )
    return ErrorHint(told, told if endpoint.is_known_server else missing)


def names_shown(wanted: str, names: Sequence[str]) -> str:
    """List the names, most similar first, up to a limit."""
    compared = [name[:_LONGEST_NAME] for name in names[:_MOST_COMPARED]]
    near = get_close_matches(wanted[:_LONGEST_NAME], compared, n=3, cutoff=0.4)
    ordered = list(dict.fromkeys([*near, *names]))
    shown = ", ".join(name[:_LONGEST_NAME] for name in ordered[:SHOWN_NAMES])
    more = len(ordered) - SHOWN_NAMES
    return Sentence("{names} and {more} more", names=shown, more=more) if more > 0 else shown


def shown_address(url: str | None) -> str:
    """Return the URL without user name, password and query."""
    if url is None:
        return ""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    host = parts.hostname or ""
    bracketed = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{bracketed}{port}{parts.path}"
