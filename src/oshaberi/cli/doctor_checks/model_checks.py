"""Checks the models in the settings: their SDK, their keys, and whether they answer.

If a family can list its models, the list is requested with every key; then each model gets one tiny
call.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from oshaberi.cli.doctor_checks.finding import Finding, bad, good, note
from oshaberi.cli.doctor_checks.model_probe import call

if TYPE_CHECKING:
    from oshaberi.config import LoadedSettings, ModelEntry
    from oshaberi.providers.model_listing import OfferedModels
    from oshaberi.providers.provider_presets import Preset

_SDKS = {
    "openai": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
    "google": "google.genai",
}


async def examine(
    settings: LoadedSettings, environ: Mapping[str, str], *, offline: bool = False
) -> AsyncIterator[Finding]:
    from oshaberi.providers.provider_presets import PRESETS

    if not settings.models:
        advice = "add [[models]] to oshaberi.toml, or use /model in a server"
        yield note(
            "model", "none in the settings; on the local stage the demo model answers", advice
        )
    for entry in settings.models:
        name = f"model {entry.provider} {entry.model}"
        preset = PRESETS.get(entry.provider)
        if preset is None:
            yield note(name, "from a plug-in: cannot be checked")
            continue
        if preset.needs_base_url and entry.base_url is None:
            yield bad(name, "needs a base_url", "add base_url to this model in oshaberi.toml")
            continue
        missing = _missing_sdk(preset)
        if missing:
            yield bad(name, f"needs {missing}", f'pip install "oshaberi[{preset.extra}]"')
            continue
        keys = entry.keys(environ)
        if not keys and (entry.api_key_env or preset.key_name_at(entry.base_url)):
            where = f"set {entry.variable}, or api_keys of this model in oshaberi.toml"
            yield bad(name, "has no API key", where)
        elif offline:
            yield note(name, "has what it needs; it was not asked (--offline)")
        else:
            async for finding in _asked(name, entry, preset, keys):
                yield finding


def _missing_sdk(preset: Preset) -> str | None:
    sdk = _SDKS.get(preset.family)
    if sdk is None:
        return None
    try:
        return None if find_spec(sdk) else sdk
    except ModuleNotFoundError:
        return sdk


async def _asked(
    name: str, entry: ModelEntry, preset: Preset, keys: Sequence[str]
) -> AsyncIterator[Finding]:
    """Check each key by listing the models, then ask the model for a word."""
    from oshaberi.providers.model_listing import can_list, list_models

    base_url = entry.base_url or preset.base_url
    taken: list[str] = []
    for number, key in enumerate(keys or ("",)):
        label = name if len(keys) < 2 else f"{name}, key {number + 1}"
        if base_url is None or not can_list(preset.family):
            taken.append(key)
            yield note(label, "has a key; only a call can check it: the provider lists no models")
            continue
        finding = _judged(label, entry, await list_models(preset.family, base_url, key))
        if finding.state != "bad":
            taken.append(key)
        yield finding
    if taken:
        yield await call(name, entry, taken[0] or None)


def _judged(name: str, entry: ModelEntry, offered: OfferedModels) -> Finding:
    if offered.status == 200:
        if offered.names and offered.is_whole and entry.model not in offered.names:
            text = f"the provider answers, but does not list {entry.model!r}"
            return note(name, text, "`oshaberi models` shows the names that it has")
        return good(name, "the provider accepts the key")
    if offered.refuses_key:
        where = entry.variable if not entry.api_keys else "api_keys"
        return bad(name, "the provider refuses the key", f"put a valid one into {where}")
    if offered.status in (404, 405):
        return note(name, "the server does not list models; the key was not checked")
    if offered.status == 429:
        return note(name, "rate limited by the provider now; the key was not checked")
    return bad(name, f"could not be checked: {offered.reason}", "check base_url and your network")
