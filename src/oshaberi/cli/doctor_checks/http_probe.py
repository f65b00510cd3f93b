"""Makes one HTTP request: returns the answer, or why there is none. Shows no secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer. `status` is 0 if there was none; `body` is JSON, or an empty object."""

    status: int
    body: Any
    reason: str = ""

    @property
    def fields(self) -> Mapping[str, Any]:
        """Return the body if it is an object, else an empty one."""
        return self.body if isinstance(self.body, dict) else {}


async def ask(url: str, headers: Mapping[str, str]) -> HttpAnswer:
    try:
        import aiohttp
    except ImportError:
        return HttpAnswer(0, {}, 'aiohttp is not installed: pip install "oshaberi[bot]"')
    patience = aiohttp.ClientTimeout(total=PATIENCE_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=patience, headers=headers) as session,
            session.get(url, allow_redirects=False) as response,
        ):
            return HttpAnswer(
                response.status, _json(await response.read()), f"HTTP {response.status}"
            )
    except TimeoutError:
        return HttpAnswer(0, {}, f"no answer within {PATIENCE_S:.0f} s")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return HttpAnswer(0, {}, _words(error))


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return {}


def _words(error: Exception) -> str:
    reason = getattr(error, "strerror", None)
    return f"{type(error).__name__}: {reason}" if reason else type(error).__name__
