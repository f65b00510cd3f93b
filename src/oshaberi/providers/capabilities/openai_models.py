"""Models behind chat completions and OpenAI's Responses API.

A row is a pattern for the model's name (without the vendor before a slash), and what differs from
the safe defaults. The first row that matches counts.
"""

from __future__ import annotations

from typing import Any

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
