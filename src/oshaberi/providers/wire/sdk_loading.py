"""SDKs are extras, imported when an adapter is made; what they raise is read without them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from oshaberi.errors import ConfigError
from oshaberi.providers.endpoint import Endpoint
from oshaberi.providers.error_classification import ProviderFailure

NO_KEY = "none"
"""Sent where no key is needed. Never left out: an SDK would look for one in the environment."""

_TIMEOUTS = frozenset({"APITimeoutError", "TimeoutException", "TimeoutError"})
_NETWORK = frozenset({"APIConnectionError", "TransportError", "OSError", "ClientError"})
_NO_SUCH_PLACE = frozenset({404, 405})
_LONGEST = 2000


class StreamError(Exception):
    """Something in an opened stream that is not an answer: an error event, or no stream at all."""

    def __init__(self, failure: ProviderFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def load_sdk(module: str, extra: str) -> Any:
    """The SDK, or one line that says how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] != module.partition(".")[0]:
            raise
        command = f'pip install "oshaberi[{extra}]"'
        raise ConfigError(f"the {module} package is not installed: {command}") from None


def http_client(sdk: Any, endpoint: Endpoint) -> Any:
    """The SDK's own HTTP client with our timeouts. Certificates are read once: 45 ms, 1 MB each."""
    timeout = sdk.Timeout(endpoint.silence_seconds, connect=endpoint.connect_seconds)
    return sdk.DefaultAsyncHttpxClient(verify=_certificates(), timeout=timeout)


@cache
def _certificates() -> Any:
    return import_module("httpx2").create_ssl_context()


def read_failure(error: Exception) -> ProviderFailure:
    """What any of the SDKs, their transport or our own decoding raised."""
    if isinstance(error, StreamError):
        return error.failure
    if isinstance(error, json.JSONDecodeError):
        message = f"the provider sent something that is not JSON ({error.msg})"
        return ProviderFailure(message=message, is_transient=True)
    ancestors = {ancestor.__name__ for ancestor in type(error).__mro__}
    if ancestors & _TIMEOUTS:
        return ProviderFailure(message="the provider did not answer in time", kind="timeout")
    status = getattr(error, "status_code", None)
    if status is None and ancestors & _NETWORK:
        return ProviderFailure(message=_network(error), kind="network")
    if status is None:
        message = f"the answer cannot be read ({type(error).__name__}: {_short(str(error))})"
        return ProviderFailure(message=message)
    return _http(error, status)


def body_failure(body: Any, status: int | None = None) -> ProviderFailure:
    """From an error object of the wire: `{"error": {...}}`, its inside, a text or anything."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(inner, Mapping):
        return ProviderFailure(status, message=_short(inner), body=body)
    codes = tuple(str(inner[key]) for key in ("code", "type") if inner.get(key))
    number = next((int(code) for code in codes if code.isdigit()), None)
    names = tuple(code for code in codes if not code.isdigit())
    message = _short(inner.get("message") or inner.get("detail") or inner)
    detail = _upstream(inner)
    return ProviderFailure(status or number, names, f"{message}{detail}", body=body)


def _http(error: Exception, status: int) -> ProviderFailure:
    body = getattr(error, "body", None)
    headers = getattr(getattr(error, "response", None), "headers", {})
    if not body or _is_page(body):
        hint = "; is the base URL right?" if status in _NO_SUCH_PLACE else ""
        return ProviderFailure(status, (), f"HTTP {status}{hint}", _seconds(headers), body)
    read = body_failure(body, status)
    return replace(read, retry_after_s=_seconds(headers))


def _is_page(body: Any) -> bool:
    """A web page, and nothing that an API says."""
    return isinstance(body, str) and body.lstrip().startswith("<")


def _upstream(inner: Mapping[str, Any]) -> str:
    """OpenRouter hides what the provider behind it said in `metadata.raw`."""
    metadata = inner.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return f": {_short(raw)}" if raw else ""


def _network(error: Exception) -> str:
    cause = error.__cause__ or error
    said = _short(str(cause))
    return f"the connection failed ({said})" if said else "the connection failed"


def _seconds(headers: Mapping[str, str]) -> float | None:
    try:
        return float(headers.get("retry-after", ""))
    except ValueError:
        return None


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.strip()[:_LONGEST]
