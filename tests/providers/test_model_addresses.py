"""What people type as the address of a model server becomes what its SDK needs."""

from __future__ import annotations

import pytest

from oshaberi.errors import ConfigError
from oshaberi.providers.model_addresses import MOST, whole_address
from oshaberi.providers.presets import PRESETS


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
