"""The login of the status page: the token starts a session of twelve hours, kept in a cookie.

The browser sends the token once, in the body of a form, so no URL, log or browser history contains
it. Scripts cannot read the cookie.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from urllib.parse import parse_qs

from aiohttp import web

log = logging.getLogger(__name__)

COOKIE = "oshaberi_status"
SESSION_SECONDS = 12 * 3600
MOST_SESSIONS = 50
WARN_SECONDS = 60.0
FORM = "application/x-www-form-urlencoded"


class PageLogin:
    """The token of a process, and the sessions of those who entered it."""

    def __init__(self, token: str, now_s: Callable[[], float] = time.monotonic) -> None:
        self._token = _digest(token)
        self._now_s = now_s
        self._ends_s: OrderedDict[bytes, float] = OrderedDict()
        """When each session ends, by the digest of its cookie."""
        self._warned_s: float | None = None
        self._wrong = 0

    def is_known(self, request: web.Request) -> bool:
        """Tell whether a request belongs to a session."""
        cookie = request.cookies.get(COOKIE, "")
        end_s = self._ends_s.get(_digest(cookie))
        return end_s is not None and self._now_s() < end_s

    async def let_in(self, request: web.Request, response: web.StreamResponse) -> bool:
        """Check the token of a form. If it is right, begin a session with the response."""
        given = await _given_token(request) if _is_our_form(request) else None
        right = given is not None and hmac.compare_digest(_digest(given), self._token)
        if not right:
            self._warn(request)
            return False
        session = secrets.token_urlsafe(32)
        self._ends_s[_digest(session)] = self._now_s() + SESSION_SECONDS
        if len(self._ends_s) > MOST_SESSIONS:
            self._ends_s.popitem(last=False)
        response.set_cookie(
            COOKIE,
            session,
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="Strict",
            secure=_is_https(request),
        )
        return True

    def let_out(self, request: web.Request, response: web.StreamResponse) -> None:
        """End the session of a request, and delete the browser's cookie if there was one."""
        if _is_our_form(request) and COOKIE in request.cookies:
            self._ends_s.pop(_digest(request.cookies[COOKIE]), None)
            response.del_cookie(COOKIE, httponly=True, samesite="Strict")

    def _warn(self, request: web.Request) -> None:
        """Log a wrong token, once a minute at most."""
        self._wrong += 1
        now_s = self._now_s()
        if self._warned_s is None or now_s - self._warned_s >= WARN_SECONDS:
            self._warned_s = now_s
            log.warning(
                "somebody gave a wrong token for the status page (%d since the start, the last "
                "from %s)",
                self._wrong,
                request.remote,
            )


def _digest(text: str) -> bytes:
    """Return a digest. All have the same length, so comparing two does not reveal the token's."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


async def _given_token(request: web.Request) -> str | None:
    """Return the token in a form; None if there is none: a stranger may send anything."""
    if request.content_type != FORM:
        return None
    try:
        fields = parse_qs((await request.read()).decode("utf-8", "replace"), max_num_fields=10)
    except (ValueError, web.RequestPayloadError):
        return None
    return fields.get("token", [None])[0]


def _is_our_form(request: web.Request) -> bool:
    """Tell whether a form was sent from our own page. Browsers say which site a form comes from.

    For our own page they say `Origin: null`, because it asks them to send no referrer. They also
    say that for a sandbox inside another page; there a newer header tells the difference.
    """
    if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        return False
    origin = request.headers.get("Origin")
    return origin in (None, "null") or origin.partition("://")[2] == request.host


def _is_https(request: web.Request) -> bool:
    """Tell whether the browser uses HTTPS, with this server or with a proxy in front of it."""
    return request.secure or request.headers.get("X-Forwarded-Proto") == "https"
