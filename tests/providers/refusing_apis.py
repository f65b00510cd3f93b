"""Servers that refuse as the real APIs do: a table of models and what each of them refuses.

A rule looks at a request's body and gives the error it earns; the words are those of the APIs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from discord_stage.model_servers import AnthropicWire, ModelServer, OpenAIWire, WireFormat
from discord_stage.model_servers.google_wire import GoogleWire
from discord_stage.model_servers.server import Reply
from discord_stage.model_servers.wire_format import ReceivedRequest, WireAnswer

Body = Mapping[str, Any]
Rule = Callable[[Body], WireAnswer | None]


# -- what a body has -----------------------------------------------------------------------------


def has_image(body: Body) -> bool:
    shown = json.dumps(body)
    return '"image_url"' in shown or '"type": "image"' in shown or "inlineData" in shown


def effort(body: Body) -> str | None:
    return body.get("reasoning_effort")


def thinking_type(body: Body) -> str | None:
    return (body.get("thinking") or {}).get("type")


def gemini(body: Body, name: str) -> Any:
    config = (body.get("generationConfig") or {}).get("thinkingConfig") or {}
    return config.get(name)


# -- errors --------------------------------------------------------------------------------------

JSON = {"content-type": "application/json"}


def openai(message: str, param: str | None = None, status: int = 400) -> WireAnswer:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": None}
    return WireAnswer(status, json.dumps({"error": error}), JSON)


def anthropic(message: str) -> WireAnswer:
    error = {"type": "invalid_request_error", "message": message}
    return WireAnswer(400, json.dumps({"type": "error", "error": error}), JSON)


def google(message: str) -> WireAnswer:
    error = {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}
    return WireAnswer(400, json.dumps({"error": error}), JSON)


# -- OpenAI --------------------------------------------------------------------------------------


def no_stop(body: Body) -> WireAnswer | None:
    message = "Unsupported parameter: 'stop' is not supported with this model."
    return openai(message, "stop") if "stop" in body else None


def no_sampling(body: Body) -> WireAnswer | None:
    for name in ("temperature", "top_p"):
        if name in body:
            said = f"Unsupported value: '{name}' does not support {body[name]} with this model."
            return openai(f"{said} Only the default (1) value is supported.", name)
    return None


def levels(*allowed: str) -> Rule:
    listed = ", ".join(f"'{word}'" for word in allowed)

    def rule(body: Body) -> WireAnswer | None:
        if effort(body) in (None, *allowed):
            return None
        said = f"Unsupported value: '{effort(body)}' is not supported with the model."
        return openai(f"{said} Supported values are: {listed}.", "reasoning_effort")

    return rule


def no_effort(body: Body) -> WireAnswer | None:
    message = "Unrecognized request argument supplied: reasoning_effort"
    return openai(message) if "reasoning_effort" in body else None


def no_tools_with_effort(body: Body) -> WireAnswer | None:
    if "tools" not in body or effort(body) in (None, "none"):
        return None
    message = (
        "Function tools with reasoning_effort are not supported for this in "
        "/v1/chat/completions. Please use /v1/responses instead."
    )
    return openai(message, "reasoning_effort")


def tools_without_thinking_only(body: Body) -> WireAnswer | None:
    if "tools" not in body or effort(body) == "none":
        return None
    message = (
        "Function tools with reasoning_effort are not supported for this in "
        "/v1/chat/completions. To use function tools, use /v1/responses or set "
        "reasoning_effort to 'none'."
    )
    return openai(message, "reasoning_effort")


def no_tools_at_all(body: Body) -> WireAnswer | None:
    message = "Function tools with reasoning_effort are not supported for this model."
    return openai(message, "reasoning_effort") if "tools" in body else None


def no_old_limit(body: Body) -> WireAnswer | None:
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead."
    )
    return openai(message, "max_tokens") if "max_tokens" in body else None


def no_system(body: Body) -> WireAnswer | None:
    message = "Unsupported value: 'messages[0].role' does not support 'system' with this model."
    roles = [message["role"] for message in body["messages"]]
    return openai(message, "messages[0].role") if "system" in roles else None


def images_refused(message: str, status: int = 400) -> Rule:
    return lambda body: openai(message, None, status) if has_image(body) else None


def tools_refused(message: str, status: int = 400) -> Rule:
    return lambda body: openai(message, None, status) if "tools" in body else None


def grok_has_no(field: str, said: str) -> Rule:
    error = {"code": "Client specified an invalid argument", "error": said}
    answer = WireAnswer(400, json.dumps(error), JSON)
    return lambda body: answer if field in body else None


def mistral_forbids(field: str) -> Rule:
    place = {"type": "extra_forbidden", "loc": ["body", field], "msg": "Extra inputs are not"}
    answer = WireAnswer(422, json.dumps({"detail": [place]}), JSON)
    return lambda body: answer if field in body else None


def no_thinking_in_ollama(body: Body) -> WireAnswer | None:
    message = '"qwen2.5:7b" does not support thinking'
    return openai(message) if effort(body) not in (None, "none") else None


def mandatory_reasoning(body: Body) -> WireAnswer | None:
    off = body.get("reasoning") == {"enabled": False}
    message = "Reasoning is mandatory for this endpoint and cannot be disabled."
    return openai(message) if off else None


# -- Anthropic -----------------------------------------------------------------------------------


def claude_refuses(kind: str) -> Rule:
    use = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
    message = f'"thinking.type.{kind}" is not supported for this model. {use}'
    return lambda body: anthropic(message) if thinking_type(body) == kind else None


def only_between_tools(body: Body) -> WireAnswer | None:
    message = (
        '"thinking.type.disabled" is not supported for this model. To turn thinking off on this '
        'model, send "thinking": {"type": "between_tools"}.'
    )
    return anthropic(message) if thinking_type(body) == "disabled" else None


def no_adaptive(body: Body) -> WireAnswer | None:
    message = "adaptive thinking is not supported on this model"
    return anthropic(message) if thinking_type(body) == "adaptive" else None


def no_effort_parameter(body: Body) -> WireAnswer | None:
    message = "This model does not support the effort parameter."
    return anthropic(message) if "output_config" in body else None


def one_way_of_sampling(body: Body) -> WireAnswer | None:
    message = "`temperature` and `top_p` cannot both be specified for this model."
    return anthropic(message) if {"temperature", "top_p"} <= body.keys() else None


def sampling_is_deprecated(body: Body) -> WireAnswer | None:
    for name in ("temperature", "top_p"):
        if name in body:
            return anthropic(f"`{name}` is deprecated for this model.")
    return None


def no_sampling_while_thinking(body: Body) -> WireAnswer | None:
    message = "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."
    thinks = thinking_type(body) in ("enabled", "adaptive")
    return anthropic(message) if thinks and "temperature" in body else None


def longest(most: int) -> Rule:
    def rule(body: Body) -> WireAnswer | None:
        limit = body["max_tokens"]
        said = f"max_tokens: {limit} > {most}, which is the maximum allowed number of output tokens"
        return anthropic(f"{said} for this model") if limit > most else None

    return rule


def a_budget_is_smaller(body: Body) -> WireAnswer | None:
    budget = (body.get("thinking") or {}).get("budget_tokens")
    if budget is None or 1024 <= budget < body["max_tokens"]:
        return None
    return anthropic("`max_tokens` must be greater than `thinking.budget_tokens`.")


# -- Gemini --------------------------------------------------------------------------------------


def only_with_thoughts(body: Body) -> WireAnswer | None:
    message = "Budget 0 is invalid. This model only works in thinking mode."
    return google(message) if gemini(body, "thinking_budget") == 0 else None


def gemini_levels(*allowed: str) -> Rule:
    def rule(body: Body) -> WireAnswer | None:
        level = gemini(body, "thinking_level")
        if level is None or level.lower() in allowed:
            return None
        said = f"Thinking level {level} is not supported for this model."
        return google(f"{said} Please retry with other thinking level.")

    return rule


def no_level(body: Body) -> WireAnswer | None:
    message = "Thinking level is not supported for this model."
    return google(message) if gemini(body, "thinking_level") else None


def no_budget(body: Body) -> WireAnswer | None:
    message = "Thinking budget is not supported for this model."
    return google(message) if gemini(body, "thinking_budget") is not None else None


def no_thoughts(body: Body) -> WireAnswer | None:
    has = (body.get("generationConfig") or {}).get("thinkingConfig")
    message = "Unable to submit request because thinking is not supported by this model."
    return google(message) if has else None


def no_function_calling(body: Body) -> WireAnswer | None:
    message = "Function calling is not enabled for models/gemma-3-27b-it"
    return google(message) if "tools" in body else None


def no_instruction(body: Body) -> WireAnswer | None:
    message = "Developer instruction is not enabled for models/gemma-3-27b-it"
    return google(message) if "systemInstruction" in body else None


# -- the table -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class RefusingModel:
    """A model, its preset, and its rules. One that is known is asked rightly the first time."""

    preset: str
    model: str
    rules: tuple[Rule, ...]
    is_known: bool = True

    @property
    def wire(self) -> WireFormat:
        match self.preset:
            case "anthropic":
                return AnthropicWire()
            case "google":
                return GoogleWire()
            case _:
                return OpenAIWire()

    def __str__(self) -> str:
        return f"{self.preset} {self.model}{'' if self.is_known else ' (unknown)'}"


_REASONS = (no_stop, no_sampling, no_old_limit)
_OLD_CLAUDE = (
    no_adaptive,
    no_effort_parameter,
    one_way_of_sampling,
    no_sampling_while_thinking,
    longest(64_000),
    a_budget_is_smaller,
)
_NEW_CLAUDE = (claude_refuses("enabled"), sampling_is_deprecated, longest(128_000))
_ALWAYS = (*_NEW_CLAUDE, claude_refuses("disabled"))
_JINJA = "tools param requires --jinja flag"
_MMPROJ = "image input is not supported - hint: if this is unexpected, you may need the mmproj"
_AUTO = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
_VARIANT = "Failed to deserialize the JSON body: messages[1]: unknown variant `image_url`"

MODELS: tuple[RefusingModel, ...] = (
    RefusingModel("openai", "gpt-5", (*_REASONS, levels("minimal", "low", "medium", "high"))),
    RefusingModel("openai", "gpt-5.1", (no_stop, levels("none", "low", "medium", "high"))),
    RefusingModel("openai", "gpt-5.2", (no_stop, no_tools_with_effort)),
    RefusingModel("openai", "gpt-5.4-mini", (no_stop, no_tools_with_effort)),
    RefusingModel("openai", "gpt-5.5", (*_REASONS[:1], tools_without_thinking_only)),
    RefusingModel("openai", "gpt-5.6-terra", (*_REASONS[:1], tools_without_thinking_only)),
    RefusingModel(
        "openai", "gpt-6-astra", (*_REASONS, no_tools_at_all, levels("low", "medium", "high"))
    ),
    RefusingModel("openai", "o3", (*_REASONS, levels("low", "medium", "high"))),
    RefusingModel(
        "openai",
        "o1-mini",
        (
            *_REASONS,
            no_effort,
            no_system,
            no_tools_at_all,
            images_refused("Invalid content type. image_url is only supported by certain"),
        ),
    ),
    RefusingModel("openai", "gpt-4o", (no_effort,)),
    RefusingModel(
        "openai",
        "gpt-3.5-turbo",
        (no_effort, images_refused("Invalid content type. image_url is only supported by some")),
    ),
    RefusingModel(
        "xai",
        "grok-4-0709",
        (
            grok_has_no("stop", "Argument not supported on this model: stop"),
            grok_has_no(
                "reasoning_effort", "Model grok-4 does not support parameter reasoningEffort."
            ),
        ),
    ),
    RefusingModel(
        "xai", "grok-4.3", (grok_has_no("stop", "Argument not supported on this model: stop"),)
    ),
    RefusingModel("deepseek", "deepseek-v4-flash", (images_refused(_VARIANT),)),
    RefusingModel("mistral", "mistral-large-latest", (mistral_forbids("reasoning_effort"),)),
    RefusingModel(
        "groq",
        "openai/gpt-oss-120b",
        (
            levels("low", "medium", "high"),
            images_refused("'messages.1' : 'messages.1.content' must be a string"),
        ),
    ),
    RefusingModel("anthropic", "claude-haiku-4-5", _OLD_CLAUDE),
    RefusingModel("anthropic", "claude-sonnet-4-5", _OLD_CLAUDE),
    RefusingModel("anthropic", "claude-opus-4-5", _OLD_CLAUDE),
    RefusingModel("anthropic", "claude-opus-4-7", _NEW_CLAUDE),
    RefusingModel("anthropic", "claude-sonnet-5", _NEW_CLAUDE),
    RefusingModel("anthropic", "claude-sonnet-5-5", (*_NEW_CLAUDE, only_between_tools)),
    RefusingModel("anthropic", "claude-opus-5-5", _ALWAYS),
    RefusingModel("anthropic", "claude-fable-5-2", _ALWAYS),
    RefusingModel("google", "gemini-2.5-pro", (only_with_thoughts, no_level)),
    RefusingModel("google", "gemini-2.5-flash", (no_level,)),
    RefusingModel("google", "gemini-2.0-flash", (no_thoughts,)),
    RefusingModel("google", "gemini-3-pro-preview", (gemini_levels("low", "high"), no_budget)),
    RefusingModel(
        "google", "gemini-3.1-pro-preview", (gemini_levels("low", "medium", "high"), no_budget)
    ),
    RefusingModel("google", "gemma-3-27b-it", (no_thoughts, no_function_calling, no_instruction)),
    # -- names that say nothing ------------------------------------------------------------------
    RefusingModel(
        "openai",
        "my-deployment",
        (*_REASONS, levels("minimal", "low", "medium", "high")),
        is_known=False,
    ),
    RefusingModel("openai", "another-deployment", (tools_without_thinking_only,), is_known=False),
    RefusingModel(
        "xai",
        "new-model",
        (
            grok_has_no(
                "reasoning_effort", "Model new-model does not support parameter reasoningEffort."
            ),
        ),
        is_known=False,
    ),
    RefusingModel("llamacpp", "local", (tools_refused(_JINJA, 500),), is_known=False),
    RefusingModel("llamacpp", "local", (images_refused(_MMPROJ, 500),), is_known=False),
    RefusingModel("vllm", "local", (tools_refused(_AUTO),), is_known=False),
    RefusingModel(
        "vllm", "local", (images_refused("At most 0 image(s) may be provided"),), is_known=False
    ),
    RefusingModel("ollama", "qwen2.5:7b", (no_thinking_in_ollama,), is_known=False),
    RefusingModel(
        "ollama", "tiny", (tools_refused("library/tiny does not support tools"),), is_known=False
    ),
    RefusingModel("openrouter", "a/b", (mandatory_reasoning,), is_known=False),
    RefusingModel(
        "openrouter",
        "a/b",
        (images_refused("No endpoints found that support image input", 404),),
        is_known=False,
    ),
    RefusingModel(
        "openrouter",
        "a/b",
        (tools_refused('No endpoints found that support tool use. Try disabling "look".', 404),),
        is_known=False,
    ),
    RefusingModel("anthropic", "house-model", _OLD_CLAUDE, is_known=False),
    RefusingModel("anthropic", "house-model", _NEW_CLAUDE, is_known=False),
    RefusingModel("anthropic", "house-model", _ALWAYS, is_known=False),
    RefusingModel("google", "house-model", (no_level,), is_known=False),
    RefusingModel("google", "house-model", (gemini_levels("low", "high"),), is_known=False),
    RefusingModel("google", "house-model", (no_thoughts,), is_known=False),
)


class RefusingServer(ModelServer):
    """Answers what a model takes, and refuses the rest in its own words."""

    def __init__(self, model: RefusingModel) -> None:
        super().__init__(model.wire)
        self._rules = model.rules

    def _reply(self, request: ReceivedRequest) -> Reply:
        refusals = (rule(request.json) for rule in self._rules)
        return next((one for one in refusals if one is not None), None) or super()._reply(request)
