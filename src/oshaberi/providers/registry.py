"""Finds an adapter by name: presets, families of ours, and plug-ins found by entry point.

An entry point of the group `oshaberi.providers` names a family and is called with an `Endpoint`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points

from oshaberi.errors import ConfigError
from oshaberi.providers.base import Adapter
from oshaberi.providers.endpoint import Endpoint

GROUP = "oshaberi.providers"

MakeAdapter = Callable[[Endpoint], Adapter]

FAMILIES: dict[str, str] = {
    "openai": "oshaberi.providers.openai_compatible:OpenAICompatible",
    "anthropic": "oshaberi.providers.anthropic:Anthropic",
    "google": "oshaberi.providers.google:Google",
    "novelai": "oshaberi.providers.novelai:NovelAI",
    "replay": "oshaberi.providers.replay:Replay",
}
"""Where each family's adapter is; imported only when it is asked for."""


def family(name: str) -> MakeAdapter:
    """What makes the adapters of a family."""
    if name in FAMILIES:
        module, _, attribute = FAMILIES[name].partition(":")
        made: MakeAdapter = getattr(import_module(module), attribute)
        return made
    for found in entry_points(group=GROUP, name=name):
        plugged: MakeAdapter = found.load()
        return plugged
    raise ConfigError(unknown("provider family", name, families()))


def families() -> list[str]:
    plugged = [found.name for found in entry_points(group=GROUP)]
    return sorted({*FAMILIES, *plugged})


def unknown(what: str, name: str, known: list[str]) -> str:
    """The message for a name nobody has, with what may have been meant."""
    near = difflib.get_close_matches(name.lower(), known, n=2, cutoff=0.5)
    meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"{what}: {name!r} is not known{meant} (known: {', '.join(known)})"
