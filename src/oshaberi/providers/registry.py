"""Finds an adapter by name: presets, built-in families, and plug-ins found by entry point.

An entry point of the group `oshaberi.providers` names a family and is called with an `Endpoint`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from oshaberi.errors import ConfigError, Sentence
from oshaberi.plug_in_loading import installed_entry_points, plug_in_error
from oshaberi.providers.base import Adapter
from oshaberi.providers.cloud_accounts import check_cloud
from oshaberi.providers.local_context_windows import LocalWindow
from oshaberi.providers.model_addresses import without_route
from oshaberi.providers.model_options import TEXT_LIMITS
from oshaberi.providers.presets import PRESETS, Preset
from oshaberi.providers.request.model_request import Endpoint, Part
from oshaberi.text.config import TextConfig

GROUP = "oshaberi.providers"
URL_MOST = 2048
URL_SHOWN_MOST = 80

MakeAdapter = Callable[[Endpoint], Adapter]

_RESPONSES = "oshaberi.providers.openai_responses.adapter"
_CLAUDE_CLOUDS = "oshaberi.providers.anthropic.clouds"
FAMILIES: dict[str, str] = {
    "openai": "oshaberi.providers.openai_chat.adapter:OpenAIChatAdapter",
    "openai-responses": f"{_RESPONSES}:OpenAIResponsesAdapter",
    "anthropic": "oshaberi.providers.anthropic.adapter:AnthropicAdapter",
    "google": "oshaberi.providers.google.adapter:GoogleAdapter",
    "ollama": "oshaberi.providers.ollama:OllamaAdapter",
    "novelai": "oshaberi.providers.novelai:NovelAIAdapter",
    "bedrock": f"{_CLAUDE_CLOUDS}:BedrockAdapter",
    "vertex": "oshaberi.providers.google.adapter:VertexAdapter",
    "vertex-claude": f"{_CLAUDE_CLOUDS}:VertexClaudeAdapter",
    "azure-entra": "oshaberi.providers.openai_responses.adapter:AzureEntraAdapter",
    "replay": "oshaberi.providers.replay:ReplayAdapter",
}
"""The module of each family's adapter; imported only when it is used."""


def connect(
    provider: str,
    model: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    **settings: Any,
) -> Adapter:
    """Return the adapter for a model. `provider` is a preset or a plugged-in family.

    `settings` are fields of `Endpoint`; `quirks` and `text` are added to those of the preset.
    """
    preset = PRESETS.get(provider) or _plugged_in(provider)
    base_url = _checked_url(provider, base_url)
    if not model.strip():
        raise ConfigError(Sentence("{provider}: needs the name of a model", provider=provider))
    if preset.needs_base_url and base_url is None:
        raise ConfigError(Sentence("{provider}: needs a base_url", provider=provider))
    if preset.cloud:
        check_cloud(preset, base_url, settings)
    key = _checked_key(provider, api_key)
    if key is None and preset.key_name_at(base_url):
        raise ConfigError(
            Sentence(
                "{provider}: needs an API key (usually {name})",
                provider=provider,
                name=preset.key_name,
            )
        )
    settings.setdefault("fetch_image", _fetch_image)
    settings.setdefault("is_known_server", _is_known_server(preset, base_url))
    settings.setdefault("ask_window", _window_asker(preset, model, base_url, key))
    endpoint = Endpoint(
        preset.name,
        model,
        base_url or preset.base_url,
        key,
        usual_window=preset.window,
        cloud=preset.cloud,
        max_stop_strings=preset.max_stop_strings,
        reemits=preset.reemits,
        quirks={**preset.quirks, **settings.pop("quirks", {})},
        text={**preset.text, **settings.pop("text", {})},
    )
    adapter = family(preset.family_at(base_url))(replace(endpoint, **settings))
    adapter.text = _checked_text(provider, endpoint.text)
    return adapter


def _is_known_server(preset: Preset, base_url: str | None) -> bool:
    if preset.cloud:
        return base_url is None
    if preset.base_url is None or preset.is_local:
        return False
    return base_url is None or base_url.rstrip("/") == preset.base_url.rstrip("/")


def _window_asker(
    preset: Preset, model: str, base_url: str | None, key: str | None
) -> LocalWindow | None:
    """Return an object that asks a local server for its window; None for other servers."""
    address = base_url or preset.base_url
    server = preset.name.removesuffix("-native")
    return LocalWindow(server, address, model, key) if preset.is_local and address else None


async def _fetch_image(url: str) -> Part:
    """Fetch an image in this process, with limits and from public addresses only (spec 01)."""
    from oshaberi.providers.images.fetching import shared_fetcher

    return await shared_fetcher().fetch(url)


def family(name: str) -> MakeAdapter:
    """Return the function that makes the adapters of a family."""
    if name in FAMILIES:
        module, _, attribute = FAMILIES[name].partition(":")
        made: MakeAdapter = getattr(import_module(module), attribute)
        return made
    for found in installed_entry_points(GROUP).select(name=name):
        try:
            plugged: MakeAdapter = found.load()
        except Exception as error:
            # Any code may run there, so anything may be raised.
            raise ConfigError(plug_in_error(GROUP, name, error)) from error
        return plugged
    raise ConfigError(unknown("provider", name, (*PRESETS, *families())))


def families() -> list[str]:
    plugged = [found.name for found in installed_entry_points(GROUP)]
    return sorted({*FAMILIES, *plugged})


def unknown(what: str, name: str, known: Iterable[str]) -> Sentence:
    """Return the error message for an unknown name, with similar known names."""
    names = sorted(set(known))
    near = difflib.get_close_matches(name.lower(), names, n=2, cutoff=0.5)
    listed, meant = ", ".join(names), " / ".join(map(repr, near))
    if not near:
        return Sentence(
            "{what}: {name!r} is not known (known: {listed})", what=what, name=name, listed=listed
        )
    return Sentence(
        "{what}: {name!r} is not known; did you mean {meant}? (known: {listed})",
        what=what,
        name=name,
        meant=meant,
        listed=listed,
    )


def _plugged_in(name: str) -> Preset:
    if name in FAMILIES or name not in families():
        raise ConfigError(unknown("provider", name, (*PRESETS, *families())))
    return Preset(name, name, name)


def _checked_key(provider: str, key: str | None) -> str | None:
    """Return the key without a line break. Refuses a key that no HTTP header can carry."""
    stripped = (key or "").strip()
    if not (stripped.isascii() and stripped.isprintable()) or " " in stripped:
        raise ConfigError(
            Sentence(
                "{provider}: the API key contains characters that no key has", provider=provider
            )
        )
    return stripped or None


def _checked_text(provider: str, text: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in text:
        if key not in TEXT_LIMITS:
            raise ConfigError(
                unknown(Sentence("{provider}: text setting", provider=provider), key, TEXT_LIMITS)
            )
    TextConfig(**text)
    return text


def _checked_url(provider: str, url: str | None) -> str | None:
    if url is None:
        return None
    shown = repr(url if len(url) <= URL_SHOWN_MOST else f"{url[:URL_SHOWN_MOST]}…")
    if not url.startswith(("http://", "https://")):
        raise ConfigError(
            Sentence(
                "{provider}: base URL {url} does not begin with http:// or https://",
                provider=provider,
                url=shown,
            )
        )
    if len(url) > URL_MOST or not url.isprintable() or " " in url or not _has_host(url):
        raise ConfigError(
            Sentence("{provider}: base URL {url} is not a valid URL", provider=provider, url=shown)
        )
    return without_route(url)


def _has_host(url: str) -> bool:
    try:
        place = urlsplit(url)
        return bool(place.hostname) and (place.port is None or place.port > 0)
    except ValueError:
        return False
