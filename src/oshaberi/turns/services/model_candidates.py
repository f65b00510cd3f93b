"""The models that may answer: a server's own and the operator's, each with a key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from oshaberi.providers.provider_presets import PRESETS
from oshaberi.storage.stored_records import KeyRecord, ModelRecord

StoredChain = tuple[tuple[ModelRecord, tuple[KeyRecord, ...]], ...]
"""Models in order, each with the keys that its owner has for it."""
StoredChains = Mapping[int, StoredChain]
"""Chains by the channel, thread or category that has them; 0 is the whole server."""


@dataclass(slots=True)
class OperatorModel:
    """A model from the operator's settings, with its keys."""

    model: ModelRecord
    keys: tuple[str, ...] = field(default=(), repr=False)
    price: tuple[float, float] | None = None
    """Dollars for a million tokens: input, output."""


@dataclass(frozen=True, slots=True)
class ModelCandidate:
    """One model with one key. The key is None if none is needed, or if there is none."""

    model: ModelRecord
    key: KeyRecord | None = None
    is_operators: bool = False
    """Whether the operator pays for it: with a key, or with the machine on which it runs."""

    @property
    def secret(self) -> str | None:
        return None if self.key is None else self.key.secret

    @property
    def lacks_key(self) -> bool:
        """Tell whether the provider needs a key and there is none."""
        preset = PRESETS.get(self.model.provider)
        needed = preset is not None and preset.key_name_at(self.model.base_url) is not None
        return needed and self.key is None


def is_same_model(record: ModelRecord, link: OperatorModel) -> bool:
    """Tell whether the record is the operator's model. No base URL means the operator's."""
    same = (record.provider, record.model) == (link.model.provider, link.model.model)
    return same and record.base_url in (None, link.model.base_url)
