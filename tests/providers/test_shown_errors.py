"""What of an error may be shown in a channel: never the body of an unknown server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oshaberi.chunks import ProviderError
from oshaberi.delivery.notices import error_notice
from oshaberi.providers.error_classification import ProviderFailure, provider_error
from oshaberi.providers.google.events import error_failure
from oshaberi.providers.registry import connect
from oshaberi.providers.request.model_request import Endpoint
from oshaberi.providers.wire.errors import body_failure, read_failure
from oshaberi.providers.wire.sse_decoder import SseDecoder

SECRET = "db-password-in-a-debug-page"


def _sse(text: str) -> ProviderFailure:
    decoder = SseDecoder()
    decoder.feed(text.encode())
    try:
        decoder.finish()
    except Exception as error:
        return read_failure(error)
    raise AssertionError("no failure")


FAILURES: dict[str, Callable[[], ProviderFailure]] = {
    "message": lambda: body_failure({"error": {"message": SECRET, "code": "oops"}}, 500),
    "detail": lambda: body_failure({"detail": SECRET}, 422),
    "bare message": lambda: body_failure({"message": SECRET}, 500),
    "object": lambda: body_failure({"users": [{"password": SECRET}]}, 500),
    "text": lambda: body_failure(SECRET, 500),
    "upstream": lambda: body_failure({"error": {"message": "m", "metadata": {"raw": SECRET}}}, 502),
    "plain answer": lambda: _sse(SECRET),
    "json answer": lambda: _sse('{"config": "' + SECRET + '"}'),
    "google": lambda: error_failure(500, "INTERNAL", SECRET, {}),
    "network": lambda: read_failure(ConnectionRefusedError(111, SECRET)),
    "exception": lambda: read_failure(TypeError(SECRET)),
}


def shown(failure: ProviderFailure, *, is_known: bool) -> str:
    error = provider_error(failure, "openai", str, is_known=is_known)
    embed = error_notice(error)
    return f"{embed.title} {embed.description}"


@pytest.mark.parametrize("name", FAILURES)
def test_nothing_of_an_unknown_servers_answer_is_shown(name: str) -> None:
    failure = FAILURES[name]()
    assert SECRET not in shown(failure, is_known=False)
    error = provider_error(failure, "openai", str)
    assert SECRET in f"{error.message} {error.raw}", "the log still says it"


@pytest.mark.parametrize("name", ["object", "text", "plain answer", "json answer", "network"])
def test_of_a_known_server_only_what_it_says_to_people(name: str) -> None:
    assert SECRET not in shown(FAILURES[name](), is_known=True)


@pytest.mark.parametrize("name", ["message", "detail", "google"])
def test_a_known_providers_own_words_are_shown(name: str) -> None:
    assert SECRET in shown(FAILURES[name](), is_known=True)


def test_the_status_is_shown_of_any_server() -> None:
    assert "HTTP 500" in shown(FAILURES["message"](), is_known=False)
    timeout = read_failure(TimeoutError())
    assert "did not answer in time" in shown(timeout, is_known=False)


def test_an_error_without_such_a_text_shows_its_message() -> None:
    assert error_notice(ProviderError("api_error", "Broken.")).description == "Broken."


@pytest.mark.parametrize(
    ("provider", "url", "expected"),
    [
        ("openai", None, True),
        ("openai", "https://api.openai.com/v1/", True),
        ("openai", "https://api.openai.com.evil.test/v1", False),
        ("openai", "http://127.0.0.1:8080/v1", False),
        ("ollama", None, False),
        ("anthropic", None, True),
        ("google", None, True),
        ("novelai", None, True),
    ],
)
def test_whose_words_are_known(
    monkeypatch: pytest.MonkeyPatch, provider: str, url: str | None, expected: bool
) -> None:
    made: list[Endpoint] = []

    def make(endpoint: Endpoint) -> _Adapter:
        made.append(endpoint)
        return _Adapter()

    monkeypatch.setattr("oshaberi.providers.registry.family", lambda _name: make)
    connect(provider, "x", api_key="key-0001", base_url=url)
    assert made[0].is_known_server is expected


class _Adapter:
    text: object = None
