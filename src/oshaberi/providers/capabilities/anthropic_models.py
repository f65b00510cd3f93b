"""Models behind Anthropic's Messages API. Rows as in `openai_models`.

`off` is the `type` that switches thinking off. A model without one always thinks, and gets a low
effort instead.
"""

from __future__ import annotations

from typing import Any

from oshaberi.providers.capabilities.openai_models import Row

_LEVELS = ("low", "medium", "high")
_CLAUDE: dict[str, Any] = {"call_ids": "words", "window": 200_000, "levels": _LEVELS}
_BUDGET: dict[str, Any] = {
    **_CLAUDE,
    "thinking": "budget",
    "off": "disabled",
    "sampling": "unless_thinking",
    "smallest_budget": 1_024,
}
_ADAPTIVE: dict[str, Any] = {
    **_CLAUDE,
    "thinking": "adaptive",
    "off": "disabled",
    "sampling": "never",
    "prefill": False,
    "window": 1_000_000,
    "output_limit": 128_000,
}
_UNASKED: dict[str, Any] = {**_ADAPTIVE, "thinks_unasked": True}
_ALWAYS: dict[str, Any] = {**_UNASKED, "thinking": "always", "off": None}

ROWS: tuple[Row, ...] = (
    (r"claude-3-(?:haiku|sonnet|opus)", {**_CLAUDE, "thinking": "none", "output_limit": 4_096}),
    (r"claude-3-5", {**_CLAUDE, "thinking": "none", "output_limit": 8_192}),
    (r"claude-3-7", {**_BUDGET, "output_limit": 64_000}),
    (
        r"claude-(?:2|instant)",
        {
            **_CLAUDE,
            "thinking": "none",
            "tools": False,
            "images": False,
            "output_limit": 4_096,
            "window": 100_000,
        },
    ),
    (r"claude-(?:haiku|sonnet|opus)-4-5", {**_BUDGET, "sampling": "one", "output_limit": 64_000}),
    (r"claude-opus-4-1", {**_BUDGET, "sampling": "one", "output_limit": 32_000}),
    (r"claude-sonnet-4-6", {**_ADAPTIVE, "sampling": "unless_thinking", "output_limit": 64_000}),
    (r"claude-opus-4-6", {**_ADAPTIVE, "sampling": "unless_thinking"}),
    (r"claude-opus-4-[78]", _ADAPTIVE),
    (r"claude-opus-4", {**_BUDGET, "output_limit": 32_000}),
    (r"claude-sonnet-4", {**_BUDGET, "output_limit": 64_000}),
    (r"claude-sonnet-5-5", {**_UNASKED, "off": "between_tools"}),
    (r"claude-haiku-5-5", _UNASKED),
    (r"claude-(?:opus|sonnet|haiku)-5(?!-5)", _UNASKED),
    (r"claude-", _ALWAYS),
    (
        r"",
        {
            "call_ids": "words",
            "thinking": "budget",
            "off": "disabled",
            "levels": _LEVELS,
            "sampling": "unless_thinking",
            "smallest_budget": 1_024,
        },
    ),
)
"""An unknown Claude is newer than these; any other unknown model gets the oldest form."""
