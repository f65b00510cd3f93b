"""Finding an adapter: presets, plug-ins, and what is said when there is none."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from oshaberi.chunks import Chunk, ProviderError
from oshaberi.errors import ConfigError
from oshaberi.providers import PRESETS, Adapter, Endpoint, Request, connect, families, registry
from oshaberi.providers.connections import sdk as sdks
from oshaberi.providers.openai_chat.adapter import OpenAIChatAdapter
from oshaberi.providers.openai_responses.adapter import OpenAIResponsesAdapter
from oshaberi.providers.request.model_request import Part, TextPart
from oshaberi.providers.wire.steps import FinishStep, Step

HOSTED = [
    preset.name
    for preset in PRESETS.values()
    if preset.family in ("openai", "openai-responses") and not preset.needs_base_url
]
OPENAI = "https://api.openai.com/v1"
ELSEWHERE = "http://127.0.0.1:9/v1"


class Parrot(Adapter):
    """A family from elsewhere."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.name = endpoint.name
        self.model = endpoint.model

    async def events(self, _request: Request) -> AsyncGenerator[str, None]:
        yield "polly"

    def read(self, event: str) -> Sequence[Step]:
        return (Chunk("text", event), FinishStep("stop"))

    def classify(self, error: Exception) -> ProviderError:
        return ProviderError("api_error", str(error))

    async def aclose(self) -> None:
        """Nothing is open."""


@pytest.fixture
def parrot(monkeypatch: pytest.MonkeyPatch) -> None:
    found = EntryPoint("parrot", f"{__name__}:Parrot", registry.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda _self: Parrot)
    points = EntryPoints([found])
    monkeypatch.setattr(registry, "installed_entry_points", lambda _group: points)


@pytest.mark.usefixtures("parrot")
def test_a_plugged_in_family() -> None:
    async def main() -> list[Chunk | None]:
        adapter = connect("parrot", "grey")
        return [raw.chunk async for raw in adapter.open(Request(()))]

    assert "parrot" in families()
    first, last = asyncio.run(main())
    assert first == Chunk("text", "polly")
    assert last == Chunk("done", finish_reason="stop")


@pytest.mark.parametrize("name", HOSTED)
def test_presets_connect(name: str) -> None:
    adapter = connect(name, "m", api_key="k" * 20)
    assert (adapter.name, adapter.model) == (name, "m")
    asyncio.run(adapter.aclose())


@pytest.mark.parametrize(
    ("name", "base_url", "made"),
    [
        ("openai", None, OpenAIResponsesAdapter),
        ("openai", OPENAI, OpenAIResponsesAdapter),
        ("openai", f"{OPENAI}/", OpenAIResponsesAdapter),
        ("openai", ELSEWHERE, OpenAIChatAdapter),
        ("openai-chat", None, OpenAIChatAdapter),
        ("openai-chat", ELSEWHERE, OpenAIChatAdapter),
        ("openai-responses", None, OpenAIResponsesAdapter),
        ("openai-responses", ELSEWHERE, OpenAIResponsesAdapter),
        ("xai", None, OpenAIChatAdapter),
        ("xai-responses", None, OpenAIResponsesAdapter),
        ("openrouter-responses", None, OpenAIResponsesAdapter),
        ("azure", "https://me.openai.azure.com/openai/v1", OpenAIResponsesAdapter),
        ("ollama", ELSEWHERE, OpenAIChatAdapter),
    ],
)
def test_which_of_openais_apis_is_spoken(name: str, base_url: str | None, made: type) -> None:
    """Only OpenAI itself is known to speak the Responses API unless it is named."""
    adapter = connect(name, "m", api_key="k" * 20, base_url=base_url)
    assert type(adapter) is made
    assert adapter.name == name
    asyncio.run(adapter.aclose())


def test_a_provider_that_is_somewhere_else_for_everybody() -> None:
    with pytest.raises(ConfigError, match="azure: needs a base_url"):
        connect("azure", "m", api_key="k" * 20)
    with pytest.raises(ConfigError, match=r"azure: needs an API key \(usually AZURE_OPENAI"):
        connect("azure", "m", base_url="https://me.openai.azure.com/openai/v1")


def test_whose_key_an_address_gets() -> None:
    assert PRESETS["openai"].key_name_at(None) == "OPENAI_API_KEY"
    assert PRESETS["openai"].key_name_at(ELSEWHERE) is None
    assert PRESETS["azure"].key_name_at(ELSEWHERE) == "AZURE_OPENAI_API_KEY"


@pytest.mark.parametrize(
    ("name", "meant"), [("opnai", "'openai'"), ("Anthropic", "'anthropic'"), ("olama", "'ollama'")]
)
def test_an_unknown_preset_is_named_with_what_was_meant(name: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"'{name}' is not known; did you mean {meant}"):
        connect(name, "m")


def test_an_unknown_preset_like_no_other() -> None:
    with pytest.raises(
        ConfigError,
        match=r"'zzz' is not known \(known: anthropic, azure, azure-entra, bedrock",
    ):
        connect("zzz", "m")


@pytest.mark.parametrize("key", [None, "", "  "])
def test_a_missing_key_is_named(key: str | None) -> None:
    with pytest.raises(ConfigError, match=r"groq: needs an API key \(usually GROQ_API_KEY\)"):
        connect("groq", "m", api_key=key)


@pytest.mark.parametrize("key", ["hush hush", "hush\nhush", "húsh-húsh", "hush\x00"])
def test_a_key_that_is_none_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigError, match="groq: the API key contains characters") as caught:
        connect("groq", "m", api_key=key)
    assert "sh" not in str(caught.value)


def test_a_model_is_needed() -> None:
    with pytest.raises(ConfigError, match="ollama: needs the name of a model"):
        connect("ollama", " ")


def test_a_wrong_base_url_is_refused() -> None:
    with pytest.raises(ConfigError, match="'localhost:1' does not begin with http"):
        connect("ollama", "m", base_url="localhost:1")


def test_text_limits_of_a_model() -> None:
    limits = {"flush_buffer_size": 400, "max_single_message_length": 500}
    adapter = connect("ollama", "m", text=limits)
    assert adapter.text == limits
    asyncio.run(adapter.aclose())
    assert connect("ollama", "m").text == {}


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"flush_size": 400}, "text setting: 'flush_size' is not known; did you mean 'flush_buff"),
        ({"flush_buffer_size": 7}, "flush_buffer_size: 7 is not a whole number from 100"),
    ],
)
def test_wrong_text_limits_are_refused(limits: dict[str, int], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        connect("ollama", "m", text=limits)


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("openai", "aiohttp", "openai"),
        ("novelai", "aiohttp", "novelai"),
        ("anthropic", "anthropic", "anthropic"),
    ],
)
def test_a_missing_package_gives_one_line(
    name: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError) as caught:
        connect(name, "m", api_key="k" * 20)
    said = str(caught.value)
    assert said == f'the {package} package is not installed: pip install "oshaberi[{extra}]"'


def test_a_broken_sdk_is_not_called_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_module: str) -> Any:
        raise ModuleNotFoundError("No module named 'jiter'", name="jiter")

    monkeypatch.setattr(sdks, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="jiter"):
        connect("anthropic", "m", api_key="k" * 20)


def test_no_sdk_is_imported_before_it_is_asked_for() -> None:
    code = (
        "import sys, oshaberi.providers, oshaberi.providers.openai_chat.adapter, "
        "oshaberi.providers.openai_responses.adapter, "
        "oshaberi.providers.anthropic; "
        "print(sorted({'openai', 'anthropic', 'httpx2', 'pydantic', 'aiohttp'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_families_of_ours() -> None:
    assert set(families()) >= {
        "openai",
        "openai-responses",
        "anthropic",
        "google",
        "novelai",
        "replay",
    }


def test_images_are_fetched_by_us_and_not_from_private_addresses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Endpoint] = []

    def family(_name: str) -> registry.MakeAdapter:
        def make(endpoint: Endpoint) -> Adapter:
            made.append(endpoint)
            return Parrot(endpoint)

        return make

    monkeypatch.setattr(registry, "family", family)
    connect("openai", "m", api_key="k" * 20)
    fetch = made[0].fetch_image
    assert fetch is not None

    async def main() -> Part:
        return await fetch("http://127.0.0.1:9/secret.png")

    part = asyncio.run(main())
    assert isinstance(part, TextPart)
    assert "image" in part.text
