"""The options of a model: what they may be, and where each of them goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oshaberi.errors import ConfigError
from oshaberi.providers import connect
from oshaberi.providers.model_options import OPTIONS, ModelOptions, options_of, parsed_option

GIVEN: dict[str, Any] = {
    "window": 8192,
    "max_output_tokens": 500,
    "images": False,
    "thinking": "low",
    "prefill": "Sure:",
    "reemits": True,
    "text": {"flush_buffer_size": 300},
    "temperature": 0.5,
    "top_p": 0.9,
    "pictures": True,
    "search": True,
    "sources": 3,
    "cache": "1h",
    "price": {"input": 1.75, "output": 14},
}


def test_every_option_is_a_field() -> None:
    assert set(OPTIONS) == set(GIVEN)
    assert options_of(GIVEN) == ModelOptions(**GIVEN)


def test_every_option_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")
    rows = [f"| `{name}` | {one.allowed} | {one.what} |" for name, one in OPTIONS.items()]
    assert [row for row in rows if row not in page] == []


def test_what_is_not_ours_goes_to_the_api() -> None:
    options = options_of({**GIVEN, "seed": 3, "user": None})
    assert options.extra == {"seed": 3}
    assert options.request_fields()["extra"] == {"seed": 3}


def test_an_endpoint_gets_its_own() -> None:
    settings = options_of(GIVEN).endpoint_settings()
    adapter = connect("ollama", "m", **settings)
    assert adapter.endpoint is not None
    assert (adapter.endpoint.window, adapter.endpoint.reemits) == (8192, True)
    assert not adapter.capabilities().images
    assert adapter.text == {"flush_buffer_size": 300}
    assert options_of({}).endpoint_settings() == {}


def test_googles_stream_repeats_itself_unless_told_otherwise() -> None:
    assert connect("google", "gemini-3-flash", api_key="k").reemits
    assert not connect("google", "gemini-3-flash", api_key="k", reemits=False).reemits
    assert not connect("ollama", "m").reemits


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("window", "big", "window: 'big' is not a whole number from 256 to"),
        ("window", True, "window: True is not a whole number"),
        ("window", 10, "window: 10 is not a whole number from 256"),
        ("max_output_tokens", 0, "max_output_tokens: 0 is not a whole number from 1"),
        ("images", "no", "images: 'no' is not true or false"),
        ("thinking", "very", "thinking: 'very' is not one of off, low, medium, high"),
        ("prefill", "  ", "prefill: '  ' is not a text"),
        ("text", {"typing": 1}, "is not a table with some of flush_buffer_size"),
        ("text", {"hold_limit": "x"}, "text: hold_limit"),
        ("price", {"input": 1}, "is not a table with input and output"),
        ("price", {"input": 1, "output": -1}, "is not a table with input and output"),
        ("temperature", 9, "temperature: 9 is not a number from 0 to 5"),
    ],
)
def test_what_does_not_fit_is_one_line(name: str, value: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=r"^[^\n]+$") as refused:
        options_of({name: value})
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("window", "32768", 32768),
        ("images", "False", False),
        ("images", "true", True),
        ("thinking", "High", "high"),
        ("thinking", "2048", 2048),
        ("prefill", "123", "123"),
        ("price", "1.75 / 14", {"input": 1.75, "output": 14}),
        ("price", "3 15 0.3", {"input": 3, "output": 15, "cached": 0.3}),
        ("price", '{"input": 1, "output": 2}', {"input": 1, "output": 2}),
        (
            "text",
            "flush_buffer_size=300, hold_limit=200",
            {"flush_buffer_size": 300, "hold_limit": 200},
        ),
    ],
)
def test_as_somebody_types_it(name: str, typed: str, value: Any) -> None:
    assert parsed_option(name, typed) == value


@pytest.mark.parametrize("typed", ["a b", "1 2 3 4 5", "[1, 2]"])
def test_a_price_that_is_none(typed: str) -> None:
    with pytest.raises(ConfigError, match=r"^price: "):
        parsed_option("price", typed)
