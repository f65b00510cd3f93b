"""Tables of routes, and the call that a route's handler receives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from discord_stage.gateway.gateway_sessions import SessionHub
from discord_stage.refusals import RefusalError, bad_form, refusal
from discord_stage.requests.rate_limits import RateLimit
from discord_stage.requests.request_log import RequestRecord
from discord_stage.rules.messages import Upload
from discord_stage.state import StageState
from discord_stage.world.ids import number_in
from discord_stage.world.permissions import Permission
from discord_stage.world.records import Channel, Json


@dataclass(slots=True)
class RouteCall:
    """One parsed request to one route."""

    state: StageState
    hub: SessionHub
    path: Mapping[str, str]
    query: Mapping[str, str]
    """Its `items` have every value of a repeated parameter."""
    body: Json
    value: object
    """The body as it arrived, for routes that take a list."""
    uploads: list[Upload]
    record: RequestRecord
    headers: dict[str, str] = field(default_factory=dict)
    code: int = 0
    """Discord's code of the refusal, if the request was refused."""
    refused: RefusalError | None = None
    """The refusal of an unreadable body; it is sent only after the access check."""
    reason: str | None = None
    """The reason for the audit log."""
    created: bool = False
    """Whether something new was created: the answer is then 201 instead of 200."""

    def id(self, name: str) -> int:
        return snowflake(self.path[name], name)

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """Return a number from the query."""
        number = number_in(self.query.get(name, str(default)))
        if number is None or not least <= number <= most:
            message = f"int value should be between {least} and {most}."
            raise bad_form((name,), "NUMBER_TYPE_MAX", message)
        return number

    def values(self, name: str) -> list[str]:
        """Return the values of a list in the query, repeated or separated by commas."""
        return [
            one for key, text in self.query.items() if key == name for one in text.split(",") if one
        ]

    def optional_id(self, name: str) -> int | None:
        return snowflake(self.query[name], name) if name in self.query else None

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() in ("1", "true")

    def channel(self, *needed: Permission) -> Channel:
        """Return the channel in the path, if the bot can see it and has these permissions."""
        channel = self.state.world.find_channel(self.id("channel_id"))
        require(self.state, channel, *needed)
        return channel


def snowflake(text: str, name: str) -> int:
    number = number_in(text)
    if number is None:
        message = f'Value "{text[:40]}" is not snowflake.'
        raise bad_form((name,), "NUMBER_TYPE_COERCE", message)
    return number


def require(state: StageState, channel: Channel, *needed: Permission) -> None:
    """Check permissions: 50001 if the bot cannot see the channel, else 50013."""
    granted = state.world.permissions_of(state.world.bot.id, channel)
    if not granted & Permission.VIEW_CHANNEL:
        raise refusal(50001)
    for permission in needed:
        if not granted & permission:
            raise refusal(50013)


Handler = Callable[[RouteCall], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class RouteHandler:
    method: str
    path: str
    handler: Handler
    limit: RateLimit | None
    for_bot: bool
    """The route needs the bot's token, and counts towards its global limit."""


class RouteTable:
    """The table of one resource."""

    def __init__(self) -> None:
        self.endpoints: list[RouteHandler] = []

    def on(
        self, method: str, path: str, limit: RateLimit | None = None, *, for_bot: bool = True
    ) -> Callable[[Handler], Handler]:
        def register(handler: Handler) -> Handler:
            self.endpoints.append(RouteHandler(method, path, handler, limit, for_bot))
            return handler

        return register
