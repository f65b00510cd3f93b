"""Models behind Gemini's API. Rows as in `openai_models`.

Up to Gemini 2.5 a request sets a thinking budget (`smallest_budget` 0: thinking can be switched
off); newer models take a level.
"""

from __future__ import annotations

from typing import Any

from oshaberi.providers.capabilities.openai_models import Row

_GEMINI: dict[str, Any] = {"window": 1_048_576, "output_limit": 65_536, "stop_strings": 5}
_OLD: dict[str, Any] = {**_GEMINI, "thinking": "none", "output_limit": 8_192}
_BUDGET: dict[str, Any] = {
    **_GEMINI,
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

ROWS: tuple[Row, ...] = (
    (r"gemini-(?:1|2\.0)", _OLD),
    (r"gemini-2\.5-pro", {**_BUDGET, "smallest_budget": 128, "largest_budget": 32_768}),
    (
        r"gemini-2\.5-flash-lite",
        {**_BUDGET, "off": "0", "smallest_budget": 512, "thinks_unasked": False},
    ),
    (r"gemini-2", {**_BUDGET, "off": "0"}),
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
