"""Known providers, as data. `quirks` says how a server differs from its family.

`openai` is the Responses API at OpenAI's own address and chat completions at any other, because
that is what other servers offer; `openai-chat` and `openai-responses` are one of them everywhere.

Quirks of the OpenAI-compatible family: `thinking` (how a level is sent: effort, openrouter, switch,
enable_thinking, template_thinking, none), `max_tokens` (the name of that key), `keeps_reasoning`
(reasoning goes back with tool results), `user_first`, `prefill` (fields of a message that the model
continues), `no_stream_options`, `gateway` (it translates for the APIs behind it), `search` (how its
own web search is switched: `plugin`, or `always` on unless told otherwise), `body` (always sent).
Of the Responses family: `encrypted_reasoning` (whether it is asked for; otherwise the model's name
decides), `body`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oshaberi.errors import ConfigError, Sentence

_WITHOUT_SEARCH = frozenset({"bedrock", "novelai", "ollama", "replay"})
HOSTED_WINDOW = 128_000
"""The window of a hosted model that the capability table does not know."""
LOCAL_WINDOW = 4_096
"""The window that Ollama and LM Studio give a model by default."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A known provider. `key_name` is the usual environment variable of its key.

    `family_elsewhere` is the family to use at any other base URL. A provider that `needs_base_url`
    has a different address for every user. `window` is the default for models whose window is
    unknown.
    """

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
    """Whether it runs on the same machine as the bot."""
    family_elsewhere: str | None = None
    needs_base_url: bool = False
    cloud: str = ""
    """The cloud whose credentials on this machine sign its requests; empty if it wants a key."""
    needs: tuple[str, ...] = ()
    """Which of `region` and `project` the settings must have."""

    def key_name_at(self, base_url: str | None) -> str | None:
        """Return the variable of the key. The usual key is sent only to the usual server."""
        return self.key_name if base_url is None or self.needs_base_url else None

    def family_at(self, base_url: str | None) -> str:
        """Return the family at this base URL. None is the provider's own address."""
        is_own = base_url is None or base_url.rstrip("/") == self.base_url
        return self.family if is_own else self.family_elsewhere or self.family

    def has_search_at(self, base_url: str | None) -> bool:
        """Return whether the API at this base URL has a web search of its own."""
        family = self.family_at(base_url)
        return "search" in self.quirks if family == "openai" else family not in _WITHOUT_SEARCH


def _hosted(
    name: str, title: str, url: str, key: str, stops: int | None = 4, **quirks: Any
) -> Preset:
    return Preset(name, title, "openai", url, key, "openai", stops, HOSTED_WINDOW, quirks=quirks)


def _responses(name: str, title: str, url: str | None, key: str, **quirks: Any) -> Preset:
    return Preset(
        name,
        title,
        "openai-responses",
        url,
        key,
        "openai",
        window=HOSTED_WINDOW,
        quirks=quirks,
        needs_base_url=url is None,
    )


def _local(name: str, title: str, port: int, **quirks: Any) -> Preset:
    url = f"http://127.0.0.1:{port}/v1"
    merged = {"user_first": True, **quirks}
    return Preset(
        name,
        title,
        "openai",
        url,
        None,
        "openai",
        window=LOCAL_WINDOW,
        quirks=merged,
        is_local=True,
    )


_OPENAI = "https://api.openai.com/v1"

_ALL = (
    Preset(
        "openai",
        "OpenAI",
        "openai-responses",
        _OPENAI,
        "OPENAI_API_KEY",
        "openai",
        4,
        HOSTED_WINDOW,
        quirks={"max_tokens": "max_completion_tokens"},
        family_elsewhere="openai",
    ),
    _hosted(
        "openai-chat",
        "OpenAI, chat completions",
        _OPENAI,
        "OPENAI_API_KEY",
        max_tokens="max_completion_tokens",
    ),
    _responses("openai-responses", "OpenAI, Responses API", _OPENAI, "OPENAI_API_KEY"),
    _responses("azure", "Azure OpenAI", None, "AZURE_OPENAI_API_KEY"),
    _hosted(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        thinking="openrouter",
        prefill={},
        gateway=True,
        search="plugin",
    ),
    _responses(
        "openrouter-responses",
        "OpenRouter, Responses API",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
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
    _responses(
        "xai-responses",
        "xAI, Responses API",
        "https://api.x.ai/v1",
        "XAI_API_KEY",
        encrypted_reasoning=True,
    ),
    _hosted(
        "perplexity",
        "Perplexity",
        "https://api.perplexity.ai",
        "PERPLEXITY_API_KEY",
        0,
        user_first=True,
        search="always",
    ),
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
    Preset(
        "ollama-native",
        "Ollama, its own API",
        "ollama",
        "http://127.0.0.1:11434",
        None,
        "ollama",
        window=LOCAL_WINDOW,
        is_local=True,
    ),
    _local("lmstudio", "LM Studio", 1234),
    _local("llamacpp", "llama.cpp", 8080, thinking="enable_thinking", prefill={}),
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
        1_048_576,
        # Seed 004: its stream may repeat the last words with the next piece.
        reemits=True,
    ),
    Preset(
        "novelai",
        "NovelAI",
        "novelai",
        "https://text.novelai.net",
        "NOVELAI_API_KEY",
        "novelai",
        window=8_192,
    ),
    Preset(
        "bedrock",
        "Claude on Amazon Bedrock",
        "bedrock",
        extra="bedrock",
        window=200_000,
        cloud="AWS",
        needs=("region",),
    ),
    Preset(
        "vertex",
        "Gemini on Vertex AI",
        "vertex",
        None,
        None,
        "google",
        5,
        1_048_576,
        reemits=True,
        cloud="Google Cloud",
        needs=("project", "region"),
    ),
    Preset(
        "vertex-claude",
        "Claude on Vertex AI",
        "vertex-claude",
        extra="vertex",
        window=200_000,
        cloud="Google Cloud",
        needs=("project", "region"),
    ),
    Preset(
        "azure-entra",
        "Azure OpenAI, with Entra ID",
        "azure-entra",
        extra="azure",
        window=HOSTED_WINDOW,
        needs_base_url=True,
        cloud="Azure",
    ),
    Preset("replay", "A recorded stream", "replay"),
)

PRESETS: dict[str, Preset] = {preset.name: preset for preset in _ALL}


def check_search(provider: str, base_url: str | None) -> None:
    """Raise ConfigError if `search` would have no effect with this provider."""
    preset = PRESETS.get(provider)
    if preset is None or preset.has_search_at(base_url):
        return
    other = PRESETS.get(f"{provider}-responses")
    if other is None:
        words = Sentence("search: {provider} has no web search of its own", provider=provider)
    else:
        words = Sentence(
            "search: {provider} has no web search of its own here, but {other} has",
            provider=provider,
            other=other.name,
        )
    raise ConfigError(words)
