"""Completes the address of a model server: people often leave out `http://` or `/v1`.

The panel, `/model`, the settings file and `oshaberi doctor` all use `whole_address`, so that an
address that works in one place works in all of them.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit

from oshaberi.errors import ConfigError, Sentence
from oshaberi.providers.presets import PRESETS, Preset

MOST = 2000
_ROUTES = ("/chat/completions", "/completions", "/responses", "/messages", "/models")
"""Routes that an SDK appends itself. People often copy them along with the address."""
_VERSIONS = {"anthropic": "/v1", "google": "/v1beta"}
"""What the SDKs of these families append as well."""
_OPENAI = ("openai", "openai-responses")
_AZURE = ("azure", "azure-entra")
_AZURE_PATH = "/openai/v1"
_HOME = (".local", ".lan", ".internal", ".home.arpa", ".localhost")


def whole_address(provider: str, typed: str) -> str:
    """Return the base URL that a provider's SDK needs. Raises ConfigError if it is no address.

    Without a scheme it is `http://` on this machine and in its network, else `https://`. An
    OpenAI-compatible address without a path gets the usual one of its host, mostly `/v1`. A server
    with its routes at the root is written with a route: `https://host/chat/completions`.
    """
    text = typed.strip()
    if not text or len(text) > MOST or not text.isprintable() or any(map(str.isspace, text)):
        raise _no_address(text)
    if "://" not in text:
        text = f"{_scheme(text)}://{text}"
    try:
        parts = urlsplit(text)
        is_whole = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_whole = False
    if not is_whole or parts.scheme not in ("http", "https"):
        raise _no_address(text)
    parts = parts._replace(path=parts.path.rstrip("/"))
    preset = PRESETS.get(provider)
    path = parts.path if preset is None else _path(parts, preset)
    return parts._replace(path=path).geturl()


def _no_address(text: str) -> ConfigError:
    shown = repr(text if len(text) <= 60 else f"{text[:60]}…")
    return ConfigError(
        Sentence("{url} is not an address like http://127.0.0.1:11434/v1", url=shown)
    )


def _scheme(text: str) -> str:
    """Return the scheme that was left out. Hardly any server at home has a certificate."""
    try:
        host = urlsplit(f"//{text}").hostname or ""
    except ValueError:
        return "http"
    try:
        return "https" if ipaddress.ip_address(host).is_global else "http"
    except ValueError:
        return "http" if "." not in host or host.endswith(_HOME) else "https"


def _path(parts: SplitResult, preset: Preset) -> str:
    path = parts.path
    family = preset.family_at(None if preset.base_url is None else parts.geturl())
    if family in ("replay", "novelai") or (preset.cloud and preset.name not in _AZURE):
        return path
    typed, path = path, _without_route(path)
    if family in _VERSIONS:
        return path.removesuffix(_VERSIONS[family])
    if preset.name in _AZURE:
        return path or _AZURE_PATH
    if path or family not in _OPENAI:
        return path
    usual = _usual_path(parts)
    if usual is None:
        # A route at the root means that there is no `/v1`. It is kept as a sign of that.
        return typed or "/v1"
    return usual


def without_route(url: str) -> str:
    """Return an address as SDKs expect it: without the route, which they append."""
    parts = urlsplit(url)
    return parts._replace(path=_without_route(parts.path)).geturl()


def _without_route(path: str) -> str:
    return next((path.removesuffix(one) for one in _ROUTES if path.endswith(one)), path)


def _usual_path(parts: SplitResult) -> str | None:
    """Return the path of the known provider that has this host; None if there is none."""
    for known in PRESETS.values():
        place = urlsplit(known.base_url or "")
        if place.netloc == parts.netloc and known.family in _OPENAI:
            return place.path
    return None
