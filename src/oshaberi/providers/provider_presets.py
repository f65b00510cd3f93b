"""Known providers, as data. What a server wants differently from its family is in `quirks`.

Quirks of the OpenAI-compatible family: `thinking` (how a level is said: effort, openrouter, switch,
enable_thinking, template_thinking, none), `max_tokens` (the name of that key), `keeps_reasoning`
(reasoning goes back with tool results), `user_first`, `prefill` (fields of a message that the model
continues), `no_stream_options`, `body` (always sent).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Preset:
    """A provider by name. `key_name` is the environment variable its key usually has."""

    name: str
    title: str
    family: str
    base_url: str | None = None
    key_name: str | None = None
    extra: str | None = None
    max_stop_strings: int | None = None
    window: int | None = None
    reemits: bool = False
    quirks: Mapping[str, Any] = field(default_factory=dict)
    text: Mapping[str, Any] = field(default_factory=dict)
    is_local: bool = False
    """Whether it runs on the machine of the bot itself."""

    @property
    def needs_key(self) -> bool:
        return self.key_name is not None


def _hosted(
    name: str, title: str, url: str, key: str, stops: int | None = 4, **quirks: Any
) -> Preset:
    return Preset(name, title, "openai", url, key, "openai", stops, quirks=quirks)


def _local(name: str, title: str, port: int, **quirks: Any) -> Preset:
    url = f"http://127.0.0.1:{port}/v1"
    merged = {"user_first": True, **quirks}
    return Preset(name, title, "openai", url, None, "openai", quirks=merged, is_local=True)


_ALL = (
    _hosted(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        max_tokens="max_completion_tokens",
    ),
    _hosted(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        thinking="openrouter",
        prefill={},
    ),
    _hosted(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        16,
        thinking="switch",
        keeps_reasoning=True,
    ),
    _hosted("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    _hosted(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        None,
        user_first=True,
        prefill={"prefix": True},
        no_stream_options=True,
    ),
    _hosted("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY"),
    _hosted(
        "nvidia",
        "NVIDIA",
        "https://integrate.api.nvidia.com/v1",
        "NVIDIA_API_KEY",
        thinking="template_thinking",
    ),
    _hosted(
        "zai",
        "Z.ai",
        "https://api.z.ai/api/paas/v4",
        "ZAI_API_KEY",
        1,
        thinking="switch",
        keeps_reasoning=True,
    ),
    _local("ollama", "Ollama", 11434),
    _local("lmstudio", "LM Studio", 1234),
    _local("llamacpp", "llama.cpp", 8080, thinking="enable_thinking"),
    _local("vllm", "vLLM", 8000, thinking="enable_thinking"),
    Preset(
        "anthropic",
        "Anthropic",
        "anthropic",
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        "anthropic",
        window=200_000,
    ),
    Preset(
        "google",
        "Google Gemini",
        "google",
        "https://generativelanguage.googleapis.com",
        "GEMINI_API_KEY",
        "google",
        5,
    ),
    Preset(
        "novelai", "NovelAI", "novelai", "https://text.novelai.net", "NOVELAI_API_KEY", "novelai"
    ),
    Preset("replay", "A recorded stream", "replay"),
)

PRESETS: dict[str, Preset] = {preset.name: preset for preset in _ALL}
