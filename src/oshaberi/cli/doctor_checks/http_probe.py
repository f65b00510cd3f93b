"""Makes one HTTP request: returns the answer, or why there is none. Shows no secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oshaberi.checked_json import parse_json
from oshaberi.foreign_bodies import PLAIN, BodyTooLargeError, PackedBodyError, answer_body

PATIENCE_S = 10.0
MOST_BYTES = 4 * 1024 * 1024


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
            aiohttp.ClientSession(
                timeout=patience, headers={**PLAIN, **headers}, auto_decompress=False
            ) as session,
            session.get(url, allow_redirects=False) as response,
        ):
            body = _json(await answer_body(response, MOST_BYTES))
            return HttpAnswer(response.status, body, f"HTTP {response.status}")
    except TimeoutError:
        return HttpAnswer(0, {}, f"no answer within {PATIENCE_S:.0f} s")
    except (BodyTooLargeError, PackedBodyError) as error:
        return HttpAnswer(0, {}, str(error))
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return HttpAnswer(0, {}, _words(error))


async def hears_from(url: str) -> str | None:
    """Open a WebSocket. Return why nothing was heard from it; None if something was."""
    import aiohttp

    patience = aiohttp.ClientTimeout(total=PATIENCE_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=patience) as session,
            session.ws_connect(url, max_msg_size=MOST_BYTES) as socket,
        ):
            first = await socket.receive(timeout=PATIENCE_S)
            heard = first.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY)
            return None if heard else "closed at once"
    except TimeoutError:
        return f"no answer within {PATIENCE_S:.0f} s"
    except aiohttp.WSServerHandshakeError as error:
        return f"HTTP {error.status}"
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return _words(error)


def _json(content: bytes) -> Any:
    try:
        return parse_json(content)
    except ValueError:
        return {}


def _words(error: Exception) -> str:
    reason = getattr(error, "strerror", None)
    return f"{type(error).__name__}: {reason}" if reason else type(error).__name__
