"""What known models can do, by family and name: one table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities

# Models behind chat completions and OpenAI's Responses API.
#
# A row is a pattern for the model's name (without the vendor before a slash), and what differs
# from the safe defaults. The first row that matches counts.


Row = tuple[str, dict[str, Any]]

_REASONS: dict[str, Any] = {
    "sampling": "never",
    "stop_strings": 0,
    "limit_field": "max_completion_tokens",
    "thinks_unasked": True,
}
_O_SERIES: dict[str, Any] = {
    **_REASONS,
    "levels": ("low", "medium", "high"),
    "window": 200_000,
    "output_limit": 100_000,
}
_GPT_5: dict[str, Any] = {**_REASONS, "window": 400_000, "output_limit": 128_000}
_GPT_5_LATER: dict[str, Any] = {**_GPT_5, "sampling": "unless_thinking", "thinks_unasked": False}
_GPT_6: dict[str, Any] = {**_GPT_5, "sampling": "unless_thinking", "window": 1_050_000}
_PLAIN: dict[str, Any] = {"thinking": "none", "stop_strings": 4}
_GROK: dict[str, Any] = {"stop_strings": 0, "thinks_unasked": True}
_OPEN_WEIGHTS: dict[str, Any] = {"images": False}

SHARED: tuple[Row, ...] = (
    # -- OpenAI ----------------------------------------------------------------------------------
    (
        r"o1-(?:mini|preview)",
        {
            **_O_SERIES,
            "thinking": "none",
            "tools": False,
            "images": False,
            "system_role": "user",
            "window": 128_000,
            "output_limit": 32_768,
        },
    ),
    (r"o[13]-mini", {**_O_SERIES, "images": False}),
    (r"o\d", _O_SERIES),
    (r"gpt-5-chat", {**_PLAIN, "tools": False, "window": 128_000, "output_limit": 16_384}),
    (
        r"gpt-5\.\d-chat",
        {**_GPT_5, "levels": ("medium",), "window": 128_000, "output_limit": 16_384},
    ),
    (r"gpt-5-pro", {**_GPT_5, "levels": ("high",)}),
    (r"gpt-5\.\d-pro", {**_GPT_5, "levels": ("medium", "high")}),
    (r"gpt-5\.1", _GPT_5_LATER),
    (r"gpt-5\.[23]", {**_GPT_5_LATER, "tools_with_effort": False}),
    (r"gpt-5\.4", {**_GPT_5_LATER, "tools_with_effort": False, "window": 1_050_000}),
    (r"gpt-5\.\d", {**_GPT_6, "tools_with_effort": False}),
    (r"gpt-5", {**_GPT_5, "levels": ("minimal", "low", "medium", "high")}),
    (r"gpt-6-astra|gpt-6\.1-sol", {**_GPT_6, "levels": ("low", "medium", "high"), "tools": False}),
    (r"gpt-[6-9]", {**_GPT_6, "tools_with_effort": False}),
    (r"gpt-4\.1", {**_PLAIN, "window": 1_047_576, "output_limit": 32_768}),
    (r"gpt-4o|chatgpt-4o", {**_PLAIN, "window": 128_000, "output_limit": 16_384}),
    (r"gpt-4-(?:turbo|vision)", {**_PLAIN, "window": 128_000, "output_limit": 4_096}),
    (r"gpt-4-(?:1106|0125)", {**_PLAIN, "images": False, "window": 128_000, "output_limit": 4_096}),
    (r"gpt-4-32k", {**_PLAIN, "images": False, "window": 32_768}),
    (r"gpt-4(?:$|-0)", {**_PLAIN, "images": False, "window": 8_192}),
    (r"gpt-3\.5", {**_PLAIN, "images": False, "window": 16_385, "output_limit": 4_096}),
    (
        r"gpt-oss",
        {
            **_OPEN_WEIGHTS,
            "levels": ("low", "medium", "high"),
            "window": 131_072,
            "thinks_unasked": True,
        },
    ),
    # -- xAI -------------------------------------------------------------------------------------
    (r"grok-.*non-reasoning", {"thinking": "none"}),
    (r"grok-3-mini", {**_GROK, "levels": ("low", "high"), "images": False, "window": 131_072}),
    (r"grok-[23]", {**_GROK, "thinking": "none", "images": False, "window": 131_072}),
    (r"grok-4\.(?:[3-9](?!\d)|20-multi)", {**_GROK, "levels": ("low", "medium", "high")}),
    (r"grok-code", {**_GROK, "thinking": "none", "images": False, "window": 256_000}),
    (r"grok", {**_GROK, "thinking": "none", "window": 256_000}),
    # -- DeepSeek --------------------------------------------------------------------------------
    (
        r"deepseek-v4",
        {
            "images": False,
            "window": 1_000_000,
            "output_limit": 384_000,
            "thinks_unasked": True,
        },
    ),
    (
        r"deepseek-(?:reasoner|r1)",
        {"images": False, "window": 128_000, "thinks_unasked": True},
    ),
    (r"deepseek-(?:vl|ocr)", {}),
    (r"deepseek", {"images": False, "window": 128_000}),
    # -- Mistral ---------------------------------------------------------------------------------
    (
        r"magistral",
        {"thinking": "none", "call_ids": "nine", "thinks_unasked": True, "window": 128_000},
    ),
    (
        r"(?:mistral|ministral|pixtral)-(?:large|medium|small|\d|12b|tiny|nemo)",
        {"thinking": "none", "call_ids": "nine", "window": 128_000},
    ),
    (
        r"(?:open-)?(?:mi[sx]tral|codestral|devstral|voxtral|mathstral)",
        {"thinking": "none", "call_ids": "nine", "images": False},
    ),
    # -- Perplexity ------------------------------------------------------------------------------
    (r"sonar", {"tools": False, "window": 128_000}),
    # -- others ----------------------------------------------------------------------------------
    (r"(?:meta-)?llama-?3", {"thinking": "none", "parallel_calls": False}),
    (r"glm-[\d.]+v", {}),
    (r"glm-", {"images": False}),
)

RESPONSES: tuple[Row, ...] = (
    (r"gpt-6-astra|gpt-6\.1-sol", {**_GPT_6, "levels": ("low", "medium", "high")}),
    (r"gpt-6", _GPT_6),
    (r"gpt-5\.[23](?!\d|-pro|-chat)", _GPT_5_LATER),
    (r"gpt-5\.4(?!-pro)", {**_GPT_5_LATER, "window": 1_050_000}),
    (r"gpt-5\.[5-9](?!-pro)", _GPT_6),
    (r"gpt-[7-9]", _GPT_6),
)
"""Where the Responses API differs: tools and effort can be combined. Everything else is as
above."""


# Models behind Anthropic's Messages API. Rows as in `known_models`.
#
# `off` is the `type` that switches thinking off. A model without one always thinks, and gets a
# low effort instead.


_LEVELS = ("low", "medium", "high")
_CLAUDE: dict[str, Any] = {"call_ids": "words", "window": 200_000, "levels": _LEVELS}
_CLAUDE_BUDGET: dict[str, Any] = {
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

ANTHROPIC_ROWS: tuple[Row, ...] = (
    (r"claude-3-(?:haiku|sonnet|opus)", {**_CLAUDE, "thinking": "none", "output_limit": 4_096}),
    (r"claude-3-5", {**_CLAUDE, "thinking": "none", "output_limit": 8_192}),
    (r"claude-3-7", {**_CLAUDE_BUDGET, "output_limit": 64_000}),
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
    (
        r"claude-(?:haiku|sonnet|opus)-4-5",
        {**_CLAUDE_BUDGET, "sampling": "one", "output_limit": 64_000},
    ),
    (r"claude-opus-4-1", {**_CLAUDE_BUDGET, "sampling": "one", "output_limit": 32_000}),
    (r"claude-sonnet-4-6", {**_ADAPTIVE, "sampling": "unless_thinking", "output_limit": 64_000}),
    (r"claude-opus-4-6", {**_ADAPTIVE, "sampling": "unless_thinking"}),
    (r"claude-opus-4-[78]", _ADAPTIVE),
    (r"claude-opus-4", {**_CLAUDE_BUDGET, "output_limit": 32_000}),
    (r"claude-sonnet-4", {**_CLAUDE_BUDGET, "output_limit": 64_000}),
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


# Models behind Gemini's API. Rows as in `known_models`.
#
# Up to Gemini 2.5 a request sets a thinking budget (`smallest_budget` 0: thinking can be switched
# off); newer models take a level.


_GEMINI: dict[str, Any] = {"window": 1_048_576, "output_limit": 65_536, "stop_strings": 5}
_OLD: dict[str, Any] = {
    **_GEMINI,
    "thinking": "none",
    "output_limit": 8_192,
    "search_with_tools": False,
}
_GEMINI_BUDGET: dict[str, Any] = {
    **_GEMINI,
    "search_with_tools": False,
    "thinking": "budget",
    "largest_budget": 24_576,
    "thinks_unasked": True,
}
_LEVEL: dict[str, Any] = {
    **_GEMINI,
    "levels": ("low", "medium", "high"),
    "thinks_unasked": True,
    "signs_calls": True,
}
_FROM_MINIMAL: dict[str, Any] = {**_LEVEL, "levels": ("minimal", "low", "medium", "high")}

GOOGLE_ROWS: tuple[Row, ...] = (
    (r"gemini-(?:1|2\.0)", _OLD),
    (r"gemini-2\.5-pro", {**_GEMINI_BUDGET, "smallest_budget": 128, "largest_budget": 32_768}),
    (
        r"gemini-2\.5-flash-lite",
        {**_GEMINI_BUDGET, "off": "0", "smallest_budget": 512, "thinks_unasked": False},
    ),
    (r"gemini-2", {**_GEMINI_BUDGET, "off": "0"}),
    (r"gemini-3-pro", {**_LEVEL, "levels": ("low", "high")}),
    (r"gemini-3[\d.]*-pro", _LEVEL),
    (r"gemini-3\.[7-9]-flash(?!-lite)", _LEVEL),
    (r"gemini-3[\d.]*-flash", _FROM_MINIMAL),
    (r"gemini-(?:[a-z]+-)*(?:flash|lite)", _FROM_MINIMAL),
    (r"gemini", _LEVEL),
    (
        r"gemma-3-1b",
        {**_OLD, "tools": False, "images": False, "system_role": "user", "window": 32_768},
    ),
    (r"gemma-[1-3]", {**_OLD, "tools": False, "system_role": "user", "window": 131_072}),
    (r"gemma", {**_OLD, "window": 131_072}),
    (r"", {**_LEVEL, "window": None, "output_limit": None}),
)


# Finds what a model can do, by family and name, in one table.


TABLE: Mapping[str, tuple[Row, ...]] = {
    "openai": SHARED,
    "openai-responses": (*RESPONSES, *SHARED),
    "anthropic": ANTHROPIC_ROWS,
    "google": GOOGLE_ROWS,
    "ollama": SHARED,
}
"""Family → rows of a pattern and what differs from the safe defaults; the first match counts."""

MOST_REMEMBERED = 1000
"""How many recently used models are remembered: an admin may choose any name."""
_OF_THE_MODEL = frozenset({"images", "window", "thinks_unasked"})
"""Fields that no gateway can change."""


@lru_cache(maxsize=MOST_REMEMBERED)
def capabilities_of(family: str, model: str, *, is_gateway: bool = False) -> ModelCapabilities:
    """Return the capabilities of a model by its name; an unknown model gets the safe defaults.

    A vendor before a slash is ignored. A gateway translates requests, so behind one only the limits
    of the model itself count, not those of its maker's API.
    """
    # Bedrock's names: `eu.anthropic.claude-…`, or an ARN that ends with one.
    name = model.lower().rpartition("/")[2].rpartition("anthropic.")[2]
    for pattern, changes in TABLE.get(family, ()):
        if re.match(pattern, name):
            kept = changes.keys() & _OF_THE_MODEL if is_gateway else changes.keys()
            return ModelCapabilities(**{key: changes[key] for key in kept})
    return ModelCapabilities()
