"""What people type as the address of a model server becomes what its SDK needs."""

from __future__ import annotations

import asyncio

import pytest

from discord_stage.model_servers import ModelServer, OpenAIWire
from oshaberi.bot.storage.records import ModelRecord
from oshaberi.bot.turns.services.model_access import place_of_model
from oshaberi.errors import ConfigError
from oshaberi.providers.model_addresses import MOST, whole_address
from oshaberi.providers.model_listing import list_models
from oshaberi.providers.presets import PRESETS
from oshaberi.providers.registry import connect


@pytest.mark.parametrize(
    ("provider", "typed", "address"),
    [
        ("openai", "127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("openai", "localhost:11434/", "http://localhost:11434/v1"),
        ("openai", " http://box:1234 ", "http://box:1234/v1"),
        ("openai", "[::1]:9000", "http://[::1]:9000/v1"),
        ("openai", "192.168.1.5:8080/v1", "http://192.168.1.5:8080/v1"),
        ("openai", "gpu.lan:8080", "http://gpu.lan:8080/v1"),
        ("openai", "models.example.com", "https://models.example.com/v1"),
        ("openai", "8.8.8.8", "https://8.8.8.8/v1"),
        ("openai", "https://x.test/proxy", "https://x.test/proxy"),
        ("openai", "https://x.test/v1/chat/completions", "https://x.test/v1"),
        ("openai", "https://x.test/v1/models/", "https://x.test/v1"),
        ("openai", "https://x.test?version=2", "https://x.test/v1?version=2"),
        ("openai-responses", "https://x.test/v1/responses", "https://x.test/v1"),
        ("openai", "x.test/chat/completions", "https://x.test/chat/completions"),
        ("openai", "https://api.openai.com/chat/completions", "https://api.openai.com/v1"),
        ("openai", "https://openrouter.ai", "https://openrouter.ai/api/v1"),
        ("openai", "api.deepseek.com", "https://api.deepseek.com"),
        ("openai", "https://api.openai.com", "https://api.openai.com/v1"),
        ("ollama", "127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
        ("azure", "https://me.openai.azure.com", "https://me.openai.azure.com/openai/v1"),
        ("anthropic", "https://api.anthropic.com/v1", "https://api.anthropic.com"),
        ("anthropic", "https://x.test/v1/messages", "https://x.test"),
        ("google", "https://x.test/v1beta/", "https://x.test"),
        ("novelai", "text.novelai.net", "https://text.novelai.net"),
        ("a-plug-in", "box:1", "http://box:1"),
    ],
)
def test_what_is_missing_is_added(provider: str, typed: str, address: str) -> None:
    assert whole_address(provider, typed) == address
    assert whole_address(provider, address) == address


@pytest.mark.parametrize(
    "typed",
    [
        *("", "   ", "http://", "ftp://x.test", "file:///etc/passwd", "http://a b/v1"),
        *("http://x.test:0", "http://x.test:99999999", "http://[::1", "x\u0007y", "h" * (MOST + 1)),
    ],
)
def test_what_is_no_address_is_refused(typed: str) -> None:
    with pytest.raises(ConfigError, match="is not an address like http://127"):
        whole_address("openai", typed)


def test_the_presets_own_addresses_stay_as_they_are() -> None:
    for preset in PRESETS.values():
        if preset.base_url is not None:
            assert whole_address(preset.name, preset.base_url) == preset.base_url


@pytest.mark.parametrize("provider", ["openai", "openai-responses"])
def test_a_server_may_have_its_routes_at_the_root(provider: str) -> None:
    route = "/responses" if provider == "openai-responses" else "/chat/completions"
    address = whole_address(provider, f"http://127.0.0.1:9{route}")
    adapter = connect(provider, "m", api_key="k", base_url=address)
    assert adapter.endpoint is not None
    assert adapter.endpoint.base_url == "http://127.0.0.1:9"
    record = ModelRecord(0, provider, "m", address)
    assert place_of_model(record) == adapter.endpoint.place, "lessons are found again"


def test_its_models_are_listed_at_the_root() -> None:
    async def main() -> list[str]:
        async with ModelServer(OpenAIWire()) as server:
            root = server.url.removesuffix("/v1")
            await list_models("openai", f"{root}/chat/completions", None)
            return [one.path for one in server.requests]

    assert asyncio.run(main()) == ["/models"]
