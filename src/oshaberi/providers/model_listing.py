"""Lists the models that an endpoint offers, if its API can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oshaberi.checked_json import parse_json
from oshaberi.foreign_bodies import BodyTooLargeError, PackedBodyError
from oshaberi.providers.error_classification import connection_problem
from oshaberi.providers.model_addresses import without_route

PATIENCE_S = 10.0
MOST_BYTES = 4 * 1024 * 1024
"""The longest list that is read: OpenRouter's has less than 1 MB."""
MOST_MODELS = 10_000
LONGEST_NAME = 200

GOOGLE_VERSION = "v1beta"
"""`v1` of Gemini's API has neither thinking nor the models named `…-latest`."""

_PATHS = {
    "openai": "/models",
    "openai-responses": "/models",
    "anthropic": "/v1/models",
    "google": f"/{GOOGLE_VERSION}/models",
    "ollama": "/api/tags",
}
_PAGE = {"anthropic": {"limit": "1000"}, "google": {"pageSize": "1000"}}


@dataclass(frozen=True, slots=True)
class OfferedModels:
    """The models of an endpoint.

    `status` is 0 without an answer; `is_whole`: the list is complete.
    """

    status: int
    names: tuple[str, ...] = ()
    is_whole: bool = True
    reason: str = ""
    refuses_key: bool = False
    is_unreadable: bool = False
    """Whether the answer was not a list."""


def can_list(family: str) -> bool:
    return family in _PATHS


async def list_models(
    family: str,
    base_url: str,
    key: str | None,
    headers: Mapping[str, str] | None = None,
    patience_s: float = PATIENCE_S,
) -> OfferedModels:
    """Ask once. Returns failures, raises none; follows no redirect."""
    import aiohttp

    from oshaberi.providers.connections.model_connections import ask_once

    url = without_route(base_url).rstrip("/") + _PATHS[family]
    sent = {**_key_header(family, key), **(headers or {})}
    try:
        query = _PAGE.get(family)
        status, content = await ask_once(
            "GET", url, patience_s, MOST_BYTES, headers=sent, params=query
        )
        return _read(status, content)
    except BodyTooLargeError:
        return OfferedModels(0, reason=f"its list is longer than {MOST_BYTES:,} bytes")
    except PackedBodyError as error:
        return OfferedModels(0, reason=str(error))
    except TimeoutError:
        return OfferedModels(0, reason=f"no answer within {patience_s:.0f} s")
    except aiohttp.InvalidURL as error:
        return OfferedModels(0, reason=type(error).__name__)
    except (aiohttp.ClientError, OSError) as error:
        return OfferedModels(0, reason=connection_problem(error))
    except ValueError as error:
        return OfferedModels(0, reason=type(error).__name__)


def _key_header(family: str, key: str | None) -> dict[str, str]:
    if not key:
        return {}
    match family:
        case "google":
            return {"x-goog-api-key": key}
        case "anthropic":
            return {"x-api-key": key, "anthropic-version": "2023-06-01"}
        case _:
            return {"Authorization": f"Bearer {key}"}


def _read(status: int, content: bytes) -> OfferedModels:
    try:
        body = parse_json(content)
    except ValueError:
        body = None
    refused = status in (401, 403) or (status == 400 and b"API_KEY_INVALID" in content)
    if status != 200:
        return OfferedModels(status, reason=f"HTTP {status}", refuses_key=refused)
    fields = body if isinstance(body, dict) else {}
    is_list = isinstance(fields.get("data", fields.get("models")), list)
    is_whole = not (fields.get("has_more") or fields.get("nextPageToken"))
    return OfferedModels(status, _names(fields), is_whole, is_unreadable=not is_list)


def _names(body: Mapping[str, Any]) -> tuple[str, ...]:
    given = body.get("data") or body.get("models")
    listed = given[:MOST_MODELS] if isinstance(given, list) else []
    found = [one.get("id") or one.get("name") for one in listed if isinstance(one, dict)]
    names = [name.removeprefix("models/") for name in found if isinstance(name, str)]
    return tuple(name for name in names if name.isprintable() and len(name) <= LONGEST_NAME)
