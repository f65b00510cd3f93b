"""Which models are asked inside the operator's own network."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address

import pytest

from oshaberi.bot.turns.services.model_access import is_local
from oshaberi.providers.presets import PRESETS
from oshaberi.public_fetching import Address

NAMES = {
    "public.test": ["93.184.215.14"],
    "inside.test": ["10.1.2.3"],
    "both.test": ["93.184.215.14", "169.254.169.254"],
}


async def resolve(host: str, _port: int) -> list[Address]:
    found = NAMES.get(host)
    if found is None:
        try:
            return [ip_address(host)]
        except ValueError:
            raise OSError("no such host") from None
    return [ip_address(one) for one in found]


@pytest.mark.parametrize("name", ["ollama", "ollama-native", "lmstudio", "llamacpp", "vllm"])
def test_the_local_presets_are_local(name: str) -> None:
    assert asyncio.run(is_local(name, None, resolve))
    assert not asyncio.run(is_local(name, "https://public.test/v1", resolve))


def test_no_other_preset_is() -> None:
    others = set(PRESETS) - {"ollama", "ollama-native", "lmstudio", "llamacpp", "vllm"}
    assert [one for one in others if asyncio.run(is_local(one, None, resolve))] == []


def test_a_plugged_in_family_is_for_the_operator_to_choose() -> None:
    """It may run on this machine, or pay with a key that it finds by itself."""
    assert asyncio.run(is_local("parrot", None, resolve))
    assert asyncio.run(is_local("parrot", "https://public.test/v1", resolve))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://public.test/v1", False),
        ("http://93.184.215.14:8080", False),
        ("http://inside.test/v1", True),
        ("http://both.test/v1", True),
        ("http://127.0.0.1:8080/v1", True),
        ("http://[::1]:8080/v1", True),
        ("http://[::ffff:10.0.0.1]/v1", True),
        ("http://169.254.169.254/latest", True),
        ("http://192.168.0.7", True),
        ("http://user:pw@10.0.0.1/v1", True),
        ("http://0.0.0.0:8080", True),
        ("http://nowhere.test/v1", False),
        ("http://[broken", True),
        ("http://", True),
    ],
)
def test_addresses(url: str, expected: bool) -> None:
    assert asyncio.run(is_local("openai", url, resolve)) is expected


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f000001", "0"])
def test_the_systems_own_ways_to_write_this_machine(host: str) -> None:
    assert asyncio.run(is_local("openai", f"http://{host}:8080/v1"))
