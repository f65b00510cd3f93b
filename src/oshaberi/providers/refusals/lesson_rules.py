"""The rules that turn a refusal into lessons. The first that changes anything counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from oshaberi.providers.capabilities.learned import Lesson
from oshaberi.providers.refusals.named_fields import Found, Refusal, Teach
from oshaberi.providers.request.preparation import SEARCH_OR_TOOLS
from oshaberi.providers.request.strict_schemas import asks_for_strict

# The lessons about how a model is told to think.


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


_ONE_MESSAGE = re.compile(r"\b(?:messages|contents|input)[.\[]\d|(?:final|last) `?assistant")
"""The path of one message: an error there says nothing about the model."""


def no_thinking(refusal: Refusal, _found: Found) -> Lesson:
    lasting = _ONE_MESSAGE.search(refusal.message) is None
    return Lesson("it cannot be told how much to think", {"thinking": "none"}, lasting)


def no_thinking_field(refusal: Refusal, found: Found) -> Lesson | None:
    return no_thinking(refusal, found) if refusal.names(*_THINKING_FIELDS) else None


# The rules that turn a refusal into lessons. The first that matches and changes something counts.
#
# A rule is a pattern for the error's message, and a function from the match to a lesson.


_LONGEST_NUMBER = 18


def lessons(refusal: Refusal) -> Iterator[Lesson]:
    """Yield the lessons in order, without those that change nothing."""
    for pattern, teach in _COMPILED:
        found = pattern.search(refusal.message)
        lesson = teach(refusal, found) if found else None
        if lesson and lesson.applied(refusal.capabilities) != refusal.capabilities:
            yield lesson


# -- images, tools, history ----------------------------------------------------------------------


def _images(refusal: Refusal, _found: Found) -> Lesson | None:
    if not refusal.has_images:
        return None
    return Lesson("it takes no images; a note stands for each", {"images": False})


def _tools(refusal: Refusal, _found: Found) -> Lesson | None:
    return Lesson("it takes no tools", {"tools": False}) if refusal.has_tools else None


def _strict_tools(refusal: Refusal, _found: Found) -> Lesson | None:
    if not asks_for_strict(refusal.sent):
        return None
    return Lesson("it does not enforce the schemas of tools", {"strict_tools": False})


def _named_tools(refusal: Refusal, found: Found) -> Lesson | None:
    return _tools(refusal, found) if refusal.names("tools") else None


def _tools_with_effort(refusal: Refusal, found: Found) -> Lesson | None:
    if not refusal.has_tools:
        return None
    if not refusal.capabilities.tools_with_effort:
        return _tools(refusal, found)
    return Lesson("it takes no thinking level with tools", {"tools_with_effort": False})


def _call_ids(refusal: Refusal, _found: Found) -> Lesson:
    shape = "nine" if "length of 9" in refusal.message else "words"
    changes = {"call_ids": shape, "keeps_own_ids": False}
    return Lesson("ids of tool calls are rewritten", changes)


# -- limits --------------------------------------------------------------------------------------


def _output_limit(_refusal: Refusal, found: Found) -> Lesson | None:
    most = _number(next(filter(None, found.groups())))
    return Lesson(f"its answers have at most {most} tokens", {"output_limit": most})


def _other_limit_field(_refusal: Refusal, found: Found) -> Lesson:
    """Learn the model's name for the output limit. Only reasoning models refuse the usual name."""
    changes = {"limit_field": found["field"], **REASONS}
    return Lesson(f"its limit is called {found['field']}", changes)


def _sampling(refusal: Refusal, _found: Found) -> Lesson | None:
    if not refusal.names("temperature", "top_p"):
        return None
    if "both" in refusal.message:
        return Lesson("it takes temperature or top_p, not both", {"sampling": "one"})
    if "thinking is enabled" in refusal.message:
        return Lesson("it takes no temperature when it thinks", {"sampling": "unless_thinking"})
    # "Deprecated" is Anthropic's word, and such a model refuses the old ways of thinking, too.
    changes = NEW_CLAUDE if "deprecated" in refusal.message else {"sampling": "never"}
    return Lesson("it takes neither temperature nor top_p", changes)


def _only_the_default(refusal: Refusal, _found: Found) -> Lesson | None:
    """Learn that the model reasons, if OpenAI refuses temperature, top_p or stop strings."""
    if not refusal.names("temperature", "top_p", "stop"):
        return None
    levels = tuple(word for word in refusal.capabilities.levels if word != "none")
    changes = {**REASONS, "levels": levels}
    return Lesson("it takes neither temperature nor stop strings", changes)


def _stop(refusal: Refusal, _found: Found) -> Lesson | None:
    if not refusal.names("stop", "stop_sequences"):
        return None
    most = re.search(r"(?:at most|maximum(?: length| of)?|up to)\D{0,20}(\d+)", refusal.message)
    number = _number(most[1]) if most else 0
    if number:
        return Lesson(f"it takes {number} stop strings", {"stop_strings": number})
    return Lesson("it takes no stop strings", {"stop_strings": 0})


def _number(digits: str) -> int:
    """Return a number in an error message; a very long one counts as very large."""
    return int(digits[:_LONGEST_NUMBER])


def _change(text: str, **changes: Any) -> Teach:
    return lambda _refusal, _found: Lesson(text, changes)


RULES: tuple[tuple[str, Teach], ...] = (
    (
        r"\bstrict\b|schema|grammar|additional_?properties|function_?calling|VALIDATED",
        _strict_tools,
    ),
    (
        r"unknown variant `?'?\"?image|image_url is only supported"
        r"|image[^.]{0,40} (?:(?:is|are|was) )?n[o']t (?:supported|enabled|available)"
        r"|n[o']t support (?:the )?(?:image|vision|multi-?modal)"
        r"|support image input|image input modality|at most 0 images?|mmproj"
        r"|not a (?:multi-?modal|vision) model",
        _images,
    ),
    (
        r"content must be a string|cannot unmarshal array"
        r"|input should be (?:a valid string|'text')",
        _images,
    ),
    (
        r"tools? .{0,60}reasoning[_. ]?effort|reasoning[_. ]?effort.{0,80}\btools\b",
        _tools_with_effort,
    ),
    (
        r"\bjinja\b|enable-auto-tool-choice|unsupported param:? tools"
        r"|support tool use|n[o']t support (?:tools?\b|function[ -]call)"
        r"|(?:function calling|tool(?:s| use| calling)) (?:is|are) not"
        r" (?:supported|enabled|available)",
        _tools,
    ),
    (
        r"tool use with function calling is unsupported",
        _change(SEARCH_OR_TOOLS, search_with_tools=False),
    ),
    (
        r"single tool-?\s?calls?",
        _change("calls are told one after the other", parallel_calls=False),
    ),
    (r"tool call id was|tool_use\.id|tool_use_id", _call_ids),
    (
        r"missing a `?thought_signature",
        _change("foreign calls get a placeholder", signs_calls=True),
    ),
    (
        r"cache_control|prompt_cache_breakpoint",
        _change("it takes no marks for its cache", cache_marks=False),
    ),
    (r"reasoning_content", _change("calls carry their reasoning", reasoning_with_calls=True)),
    (r"prefill|must end with a user message", _change("it takes no prefill", prefill=False)),
    (
        r"(?:developer|system) (?:instruction|role|message)s?[^.]{0,30}not (?:enabled|supported)"
        r"|role'? does not support '?(?:developer|system)|unsupported (?:value|role)[^.]{0,40}"
        r"'(?:developer|system)'",
        _change("the system text is said by the user", system_role="user"),
    ),
    (
        r"> (\d+), which is the maximum allowed"
        r"|supports? at most (\d+) (?:completion|output) tokens"
        r"|less than or equal to `?(\d+)`?, the maximum value for `?max_"
        r"|range of max_tokens is \[1, (\d+)\]",
        _output_limit,
    ),
    (r"use '?\"?(?P<field>max_completion_tokens|max_tokens)'?\"? instead", _other_limit_field),
    (
        r"thinking[ _]budget[^.]{0,30}invalid.{0,60}between (?P<least>\d+) and (?P<most>\d+)",
        budget_range,
    ),
    (
        r"budget 0 is invalid|only works in thinking mode|reasoning is mandatory"
        r"|thinking\.type\.disabled|cannot be disabled",
        always,
    ),
    (r"thinking\.type\.enabled|budget_tokens[^.]{0,40}not supported", by_effort),
    (
        r"adaptive thinking is not supported|thinking\.type\.adaptive\W|'adaptive' found using"
        r"|support the effort param|output_config",
        by_budget,
    ),
    (
        r"thinking level (?P<level>minimal|low|medium|high) is not supported",
        one_level_less,
    ),
    (r"thinking[_ ]?level is not supported", by_small_budget),
    (
        r"thinking[_ ]?budget is not supported",
        _change(
            "it thinks by level, not by budget",
            thinking="effort",
            off=None,
            levels=("low", "medium", "high"),
        ),
    ),
    (
        r"(?:supported (?:values are|levels:)|must be one of|expected one of)(?P<values>[^.]+)",
        levels,
    ),
    (
        r"n[o']t support (?:thinking|reasoning)|thinking is not (?:supported|enabled)",
        no_thinking,
    ),
    (r"with this model|only the default", _only_the_default),
    (r"temperature|top_p|top_?P", _sampling),
    (r"stop", _stop),
    (r"reasoning|thinking|template|output_config", no_thinking_field),
    (r"tools", _named_tools),
)
_COMPILED = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), teach) for pattern, teach in RULES
)
