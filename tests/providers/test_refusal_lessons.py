"""What real refusals teach, and which parameters an error names."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.providers.capabilities import LearnedLimits, ModelPlace
from oshaberi.providers.capabilities.known_models import TABLE, capabilities_of
from oshaberi.providers.capabilities.learned import Lesson
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.refusals.lesson_rules import lessons
from oshaberi.providers.refusals.named_fields import Refusal, named_parameters

SENT = dict.fromkeys(
    (
        *("tools", "stop", "temperature", "top_p", "reasoning_effort", "stream_options"),
        *("max_tokens", "thinking", "output_config", "stop_sequences", "thinking_config"),
    ),
    1,
)


@pytest.mark.parametrize(
    ("message", "body", "named"),
    [
        ("Unsupported parameter: 'stop' is not supported with this model.", None, ("stop",)),
        ("Model grok-4 does not support parameter reasoningEffort.", None, ("reasoning_effort",)),
        ("Argument not supported on this model: stop", None, ("stop",)),
        ("Unrecognized request argument supplied: top_p", None, ("top_p",)),
        ("temperature: Extra inputs are not permitted", None, ("temperature",)),
        ("no", {"error": {"param": "reasoning_effort"}}, ("reasoning_effort",)),
        ("the tools must stop", {"param": "stop"}, ("stop",)),
        ("no", {"detail": [{"loc": ["body", "top_p"], "msg": "no"}]}, ("top_p",)),
        ("at 'generation_config.thinking_config': Cannot find field.", None, ("thinking_config",)),
        ("something about max_tokens", None, ("max_tokens",)),
        ("Invalid schema for function 'look'", {"param": "tools[0].function.parameters"}, ()),
        ("these tools must stop at this temperature; thinking helps", None, ()),
        ("messages[0].content is wrong", None, ()),
        ("", None, ()),
    ],
)
def test_what_an_error_names(message: str, body: Any, named: tuple[str, ...]) -> None:
    assert named_parameters(message, body, SENT) == named


@pytest.mark.parametrize(
    ("message", "changes"),
    [
        ("messages[7]: unknown variant `image_url`, expected `text`", {"images": False}),
        ("image input is not supported - hint: provide the mmproj", {"images": False}),
        ("this model does not support image input (ref: b8bd630e)", {"images": False}),
        ("Image input modality is not enabled for models/gemma-3-1b-it", {"images": False}),
        ("x is not a multimodal model", {"images": False}),
        ("tools param requires --jinja flag", {"tools": False}),
        ("registry.ollama.ai/library/x does not support tools", {"tools": False}),
        ("Unsupported param: tools", {"tools": False}),
        ("This model only supports single tool-calls at once!", {"parallel_calls": False}),
        (
            "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
            {"call_ids": "nine"},
        ),
        (
            "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
            {"call_ids": "words"},
        ),
        (
            "Function call is missing a thought_signature in functionCall parts.",
            {"signs_calls": True},
        ),
        (
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            {"reasoning_with_calls": True},
        ),
        ("This model does not support assistant message prefill.", {"prefill": False}),
        ("Developer instruction is not enabled for models/x", {"system_role": "user"}),
        (
            "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens",
            {"output_limit": 64_000},
        ),
        (
            "max_tokens is too large: 9. This model supports at most 4096 completion tokens",
            {"output_limit": 4_096},
        ),
        (
            "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
            {"output_limit": 8_192},
        ),
        (
            "The thinking budget 0 is invalid. Please choose a value between 128 and 32768.",
            {"smallest_budget": 128, "largest_budget": 32_768},
        ),
        (
            "`reasoning_effort` must be one of `low`, `medium`, or `high`",
            {"levels": ("low", "medium", "high")},
        ),
        (
            "This model does not support effort level 'xhigh'. Supported levels: high, low, max.",
            {"levels": ("low", "high", "max")},
        ),
        ("`temperature` and `top_p` cannot both be specified", {"sampling": "one"}),
        ("'stop': array too long. Expected an array with maximum length 4", {"stop_strings": 4}),
        ('"qwen2.5" does not support thinking', {"thinking": "none"}),
        ("thinking: Extra inputs are not permitted", {"thinking": "none"}),
    ],
)
def test_what_a_refusal_teaches(message: str, changes: dict[str, Any]) -> None:
    [lesson, *_] = lessons(Refusal(message, None, SENT, ModelCapabilities(), has_images=True))
    assert {key: lesson.changes[key] for key in changes} == changes
    assert lesson.text


def test_images_are_not_blamed_for_nothing() -> None:
    refusal = Refusal("image input is not supported", None, SENT, ModelCapabilities())
    assert list(lessons(refusal)) == []


def test_what_changes_nothing_is_no_lesson() -> None:
    known = ModelCapabilities(tools=False)
    assert list(lessons(Refusal("it does not support tools", None, SENT, known))) == []


@pytest.mark.parametrize("family", TABLE)
def test_a_vendor_before_the_name_does_not_count(family: str) -> None:
    names = ("gpt-5.2", "claude-opus-4-7", "gemini-2.5-pro", "unheard-of")
    for name in names:
        assert capabilities_of(family, f"vendor/{name}") == capabilities_of(family, name)


def test_the_responses_api_takes_tools_and_effort_together() -> None:
    for model in ("gpt-5.2", "gpt-5.4", "gpt-5.5", "gpt-5.6-sol", "gpt-6-luna", "gpt-6-astra"):
        known = capabilities_of("openai-responses", model)
        assert (known.tools, known.tools_with_effort) == (True, True), model
    assert not capabilities_of("openai", "gpt-5.2").tools_with_effort
    assert not capabilities_of("openai", "gpt-6-astra").tools


def test_behind_a_gateway_only_the_model_itself_counts() -> None:
    behind = capabilities_of("openai", "openai/gpt-5.2", is_gateway=True)
    assert (behind.tools_with_effort, behind.stop_strings, behind.window) == (True, None, 400_000)
    assert not capabilities_of("openai", "deepseek/deepseek-v4", is_gateway=True).images


def test_an_unknown_family_has_the_safe_form() -> None:
    assert capabilities_of("parrot", "grey") == ModelCapabilities()


def test_the_latest_lesson_counts_most() -> None:
    learned, place = LearnedLimits(), ModelPlace("p", None, "m")
    for number in (1, 2, 1):
        learned.learn(place, Lesson(f"at most {number}", {"stop_strings": number}))
    assert learned.applied(place, ModelCapabilities()).stop_strings == 1
    assert learned.told(place) == ("at most 2", "at most 1")
    assert learned.told(place._replace(model="other")) == ()
