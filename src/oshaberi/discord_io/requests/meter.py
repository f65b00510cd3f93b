"""Measures Discord's answers by kind of request: duration, status, refused webhooks."""

from __future__ import annotations

import re
from collections.abc import Callable

OnAnswer = Callable[[str, int, float], None]
"""Called with the kind of a request, the status of its answer (0 without one) and the seconds."""
OTHER = "other"
_ROUTES: tuple[tuple[str, re.Pattern[str], str], ...] = tuple(
    (method, re.compile(path), kind)
    for method, path, kind in (
        ("POST", r"/channels/\d+/messages$", "send"),
        ("PATCH", r"/channels/\d+/messages/\d+$", "edit"),
        ("DELETE", r"/channels/\d+/messages/\d+$", "delete"),
        ("GET", r"/channels/\d+/messages", "history"),
        ("POST", r"/channels/\d+/typing$", "typing"),
        ("PUT", r"/channels/\d+/messages/\d+/reactions/", "reaction"),
        ("DELETE", r"/channels/\d+/messages/\d+/reactions/", "reaction"),
        ("POST", r"/channels/\d+/webhooks$", "webhook_create"),
        ("POST", r"/interactions/", "command"),
    )
)


def kind_of(method: str, path: str) -> str:
    """Return the kind of a request, for the label of a metric: never an id."""
    for wanted, pattern, kind in _ROUTES:
        if method == wanted and pattern.search(path):
            return kind
    return OTHER


class RequestMeter:
    """One per client."""

    def __init__(self) -> None:
        self.on_answer: OnAnswer = lambda _kind, _status, _seconds: None
        self.on_webhook_refusal: Callable[[int], None] = lambda _code: None
        """Called with Discord's code when a channel has no webhook for us."""
