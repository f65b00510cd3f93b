"""The lessons about how a model is told to think."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from oshaberi.providers.capabilities.learned_limits import Lesson
from oshaberi.providers.refusals.refusal import Found, Refusal

REASONS: Mapping[str, Any] = {"sampling": "never", "stop_strings": 0}
"""What all of OpenAI's reasoning models have in common: a model that refuses one of these refuses
the others too."""
NEW_CLAUDE: Mapping[str, Any] = {
    "thinking": "always",
    "off": None,
    "sampling": "never",
    "prefill": False,
}
_THINKING_FIELDS = (
    "reasoning_effort",
    "reasoning",
    "thinking",
    "thinking_config",
    "output_config",
    "chat_template_kwargs",
    "enable_thinking",
)
_WORDS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_BY_BUDGET: Mapping[str, Any] = {"thinking": "budget", "off": "disabled", "smallest_budget": 1_024}


def levels(refusal: Refusal, found: Found) -> Lesson | None:
    """Learn the levels that the error lists."""
    if not refusal.names(*_THINKING_FIELDS) and "effort" not in refusal.message:
        return None
    listed = re.findall(r"[a-z]+", found["values"].lower())
    known = tuple(word for word in _WORDS if word in listed)
    if not known:
        return no_thinking(refusal, found)
    reasons = REASONS if "is not supported with" in refusal.message else {}
    changes = {"levels": known, **reasons}
    return Lesson(f"its thinking levels are {', '.join(known)}", changes)


def one_level_less(refusal: Refusal, found: Found) -> Lesson | None:
    word = found["level"].lower()
    rest = tuple(level for level in refusal.capabilities.levels if level != word)
    return Lesson(f"it has no thinking level {word}", {"levels": rest}) if rest else None


def by_budget(_refusal: Refusal, _found: Found) -> Lesson:
    return Lesson("it thinks by budget, not by effort", _BY_BUDGET)


def by_small_budget(_refusal: Refusal, _found: Found) -> Lesson:
    return Lesson("it thinks by budget, not by level", {"thinking": "budget", "off": "0"})


def by_effort(refusal: Refusal, _found: Found) -> Lesson:
    off = refusal.capabilities.off
    changes = {"thinking": "adaptive", "off": off, "sampling": "never", "prefill": False}
    return Lesson("it thinks by effort, not by budget", changes)


def always(refusal: Refusal, _found: Found) -> Lesson:
    if "between_tools" in refusal.message:
        return Lesson("it thinks between tools at least", {"off": "between_tools"})
    words = tuple(word for word in refusal.capabilities.levels if word != "none")
    smallest = max(refusal.capabilities.smallest_budget, 128)
    changes: dict[str, Any] = {
        "off": None,
        "levels": words or ("low",),
        "smallest_budget": smallest,
    }
    if "thinking.type" in refusal.message:
        changes |= NEW_CLAUDE
    return Lesson("its thinking cannot be off", changes)


def budget_range(refusal: Refusal, found: Found) -> Lesson:
    smallest, largest = int(found["least"][:18]), int(found["most"][:18])
    changes: dict[str, Any] = {"smallest_budget": smallest, "largest_budget": largest}
    if re.search(r"budget 0\b", refusal.message):
        changes["off"] = None
    return Lesson(f"its thinking budget is {smallest} to {largest} tokens", changes)


def no_thinking(_refusal: Refusal, _found: Found) -> Lesson:
    return Lesson("it cannot be told how much to think", {"thinking": "none"})


def no_thinking_field(refusal: Refusal, found: Found) -> Lesson | None:
    return no_thinking(refusal, found) if refusal.names(*_THINKING_FIELDS) else None
