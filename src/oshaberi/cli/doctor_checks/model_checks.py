"""The models of the settings: their SDK, their keys, and whether the provider takes them.

Families that list their models for nothing are asked; of the others only the key's presence shows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from oshaberi.cli.doctor_checks.finding import Finding, bad, good, note
from oshaberi.cli.doctor_checks.http_probe import HttpAnswer, ask

if TYPE_CHECKING:
    from oshaberi.config import LoadedSettings, ModelEntry
    from oshaberi.providers.provider_presets import Preset

_SDKS = {"openai": "openai", "anthropic": "anthropic", "google": "google.genai"}
_LISTS = {"openai": "/models", "anthropic": "/v1/models", "google": "/v1beta/models"}


async def examine(settings: LoadedSettings, environ: Mapping[str, str]) -> AsyncIterator[Finding]:
    from oshaberi.providers.provider_presets import PRESETS

    if not settings.models:
        advice = "add [[models]] to oshaberi.toml, or use /model in a server"
        yield note(
            "model", "none in the settings: on the local stage the demo model answers", advice
        )
    for entry in settings.models:
        name = f"model {entry.provider} {entry.model}"
        preset = PRESETS.get(entry.provider)
        if preset is None:
            yield note(name, "from a plug-in: cannot be checked")
            continue
        missing = _missing_sdk(preset)
        if missing:
            yield bad(name, f"needs {missing}", f'pip install "oshaberi[{preset.extra}]"')
            continue
        async for finding in _keys(name, entry, preset, environ):
            yield finding


def _missing_sdk(preset: Preset) -> str | None:
    sdk = _SDKS.get(preset.family)
    if sdk is None:
        return None
    try:
        return None if find_spec(sdk) else sdk
    except ModuleNotFoundError:
        return sdk


async def _keys(
    name: str, entry: ModelEntry, preset: Preset, environ: Mapping[str, str]
) -> AsyncIterator[Finding]:
    keys = entry.keys(environ)
    if not keys and (entry.api_key_env or (preset.needs_key and entry.base_url is None)):
        where = f"set {entry.variable}, or api_keys of this model in oshaberi.toml"
        yield bad(name, "has no API key", where)
        return
    for number, key in enumerate(keys or ("",)):
        label = name if len(keys) < 2 else f"{name}, key {number + 1}"
        if preset.family not in _LISTS:
            yield note(label, "has a key; this provider has no way to check it")
        else:
            yield _judged(label, entry, await _list(preset, entry, key))


async def _list(preset: Preset, entry: ModelEntry, key: str) -> HttpAnswer:
    base = (entry.base_url or preset.base_url or "").rstrip("/")
    headers: dict[str, str] = {}
    if key and preset.family == "google":
        headers = {"x-goog-api-key": key}
    elif key and preset.family == "anthropic":
        headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    elif key:
        headers = {"Authorization": f"Bearer {key}"}
    return await ask(base + _LISTS[preset.family], headers)


def _judged(name: str, entry: ModelEntry, answer: HttpAnswer) -> Finding:
    if answer.status == 200:
        listed = _names(answer.body)
        if listed and not any(entry.model in (one, one.removeprefix("models/")) for one in listed):
            text = f"the provider answers, but does not list {entry.model!r}"
            return note(name, text, "check the name of the model")
        return good(name, "the provider accepts the key")
    if answer.status in (401, 403) or _says_key(answer):
        where = entry.variable if not entry.api_keys else "api_keys"
        return bad(name, "the provider refuses the key", f"put a valid one into {where}")
    if answer.status in (404, 405):
        return note(name, "the server does not list models; the key was not checked")
    if answer.status == 429:
        return note(name, "rate limited by the provider now; the key was not checked")
    return bad(name, f"could not be checked: {answer.reason}", "check base_url and your network")


def _says_key(answer: HttpAnswer) -> bool:
    """Google answers a wrong key with 400."""
    return answer.status == 400 and "API_KEY_INVALID" in str(answer.body)


def _names(body: Any) -> list[str]:
    """A whole list only: where there are more pages, the model may be on one of them."""
    if not isinstance(body, dict) or body.get("has_more") or body.get("nextPageToken"):
        return []
    listed = body.get("data") or body.get("models") or []
    found = [one.get("id") or one.get("name") for one in listed if isinstance(one, dict)]
    return [name for name in found if isinstance(name, str)]
