"""Decides which settings apply in a channel: the nearest value counts.

An admin can set a value for a thread, a channel, a category or the server; otherwise the operator's
applies.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from oshaberi.config.all_settings import within
from oshaberi.config.loaded_settings import LoadedSettings
from oshaberi.config.renamed_settings import with_new_names
from oshaberi.config.server_keys import SERVER_KEYS, is_quota
from oshaberi.config.server_limits import limited
from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.errors import ConfigError
from oshaberi.text.text_config import TextConfig

log = logging.getLogger(__name__)

NO_QUOTAS: Mapping[str, Any] = {key: 0 for key in SERVER_KEYS if is_quota(key)}


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """The settings that apply in one channel."""

    stream: StreamConfig
    turn: TurnConfig


def effective(settings: LoadedSettings, *layers: Mapping[str, Any]) -> EffectiveSettings:
    """Return the operator's settings with the changes of `layers`, within the operator's limits.

    The first layer is the nearest: a thread's, a channel's, a category's, then the server's. A
    stored value that is no longer valid is ignored and logged: it must not stop the bot from
    answering.
    """
    kept = [_known(layer) for layer in layers]
    while any(kept):
        try:
            return _combined(settings, limited(settings, inherited(*kept)))
        except ConfigError as error:
            log.warning("a stored setting is ignored: %s", error)
            _drop(kept, str(error).partition(":")[0])
    return EffectiveSettings(settings.stream, replace(settings.turn, **NO_QUOTAS))


def inherited(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nearest value of each setting; the first layer is the nearest."""
    return {key: value for layer in reversed(layers) for key, value in layer.items()}


def _drop(layers: list[dict[str, Any]], key: str) -> None:
    """Drop the nearest value of a setting; if no layer has one, drop everything."""
    for layer in layers:
        if key in layer:
            del layer[key]
            return
    layers.clear()


def check_together(settings: LoadedSettings, *layers: Mapping[str, Any]) -> None:
    """Raise if values that are each valid contradict each other; `layers` as in `effective`.

    Call it before you store a change.
    """
    _combined(settings, inherited(*map(_known, layers)))


def origin(layers: Sequence[Mapping[str, Any]], key: str) -> int | None:
    """Return the number of the layer that has a value; None if it is the operator's."""
    names = [with_new_names(layer) for layer in layers]
    return next((number for number, layer in enumerate(names) if key in layer), None)


def _known(server_config: Mapping[str, Any]) -> dict[str, Any]:
    stored = with_new_names(server_config)
    return {key: value for key, value in stored.items() if key in SERVER_KEYS}


def _combined(settings: LoadedSettings, changes: Mapping[str, Any]) -> EffectiveSettings:
    text = replace(settings.stream.text, **within(TextConfig, changes))
    stream = replace(settings.stream, text=text, **within(StreamConfig, changes))
    # The operator's quotas are counted apart: those in here are the server's own.
    turn = {**NO_QUOTAS, **within(TurnConfig, changes)}
    return EffectiveSettings(stream, replace(settings.turn, **turn))
