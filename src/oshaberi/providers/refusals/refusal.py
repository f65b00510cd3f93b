"""A refused request: the error, and what was sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from oshaberi.providers.capabilities.learned_limits import Lesson
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.refusals.named_parameters import named_parameters

Found = re.Match[str]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request. `detail` is the error object, `sent` the fields of the body."""

    message: str
    detail: Any
    sent: Mapping[str, Any]
    capabilities: ModelCapabilities
    has_images: bool = False

    @property
    def has_tools(self) -> bool:
        return bool(self.sent.get("tools"))

    def names(self, *fields: str) -> bool:
        """Tell whether the error names one of these fields and the field was sent."""
        return bool(named_parameters(self.message, self.detail, set(fields) & self.sent.keys()))


Teach = Callable[[Refusal, Found], Lesson | None]
