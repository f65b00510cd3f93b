"""What one model of one API accepts. Request bodies are built from this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ThinkingStyle = Literal["none", "effort", "budget", "adaptive", "always"]
"""How a model is told to think. `none`: it does not think, or cannot be told. `effort`: by a level.
`budget`: by a number of tokens. `adaptive`: by a level, and the model decides when. `always`: like
`adaptive`, but never off."""

Sampling = Literal["allowed", "one", "unless_thinking", "never"]
"""Whether `temperature` and `top_p` may be sent; `one`: only one of them."""

SystemRole = Literal["system", "user"]
"""The role of the system text. `user`: it is put before the user's first message."""

CallIdShape = Literal["any", "words", "nine"]
"""What the id of a tool call may be: anything up to 40 characters, letters, digits, `_` and `-`,
or nine letters and digits."""

EVERY_LEVEL = ("none", "low", "medium", "high")


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """The defaults are safe for unknown models. Numbers are tokens; None means unknown.

    `levels` are the model's words for thinking levels, from little to much. The first one stands
    for `off` if it is `none`, `minimal` or the only one.
    """

    images: bool = True
    tools: bool = True
    tools_with_effort: bool = True
    search_with_tools: bool = True
    """Whether the provider's own search can be offered beside tools."""
    strict_tools: bool = True
    """Whether the API may be asked to enforce the schema of a tool."""
    parallel_calls: bool = True
    """Whether the history may have several calls in one turn."""
    thinking: ThinkingStyle = "effort"
    levels: tuple[str, ...] = EVERY_LEVEL
    off: str | None = None
    """How thinking is switched off: a word of the API; None means the lowest level."""
    smallest_budget: int = 0
    largest_budget: int | None = None
    thinks_unasked: bool = False
    sampling: Sampling = "allowed"
    stop_strings: int | None = None
    """How many are allowed; None means the number in the provider's preset."""
    window: int | None = None
    output_limit: int | None = None
    limit_field: str | None = None
    """The name of the output limit, if it differs from that in the provider's preset."""
    system_role: SystemRole = "system"
    prefill: bool = True
    call_ids: CallIdShape = "any"
    """What the id of a call by another model may be."""
    keeps_own_ids: bool = True
    """Whether the model gets its own ids back unchanged."""
    signs_calls: bool = False
    """Whether every call in the history needs a signature."""
    cache_marks: bool = True
    """Whether a request may mark where its stable beginning ends."""
    reasoning_with_calls: bool = False
    """Whether calls in the history need the reasoning that led to them."""

    @property
    def can_be_off(self) -> bool:
        """Return whether the model can be told not to think."""
        return self.off is not None or self.levels[:1] == ("none",)
