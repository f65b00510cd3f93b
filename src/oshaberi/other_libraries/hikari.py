"""What the objects of hikari mean as the place for an answer."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from oshaberi.delivery.sink import AmbiguousError, DeliveryTarget, DiscordRefusalError
from oshaberi.errors import ConfigError
from oshaberi.other_libraries.rest_sink import (
    InteractionRestSink,
    Json,
    Place,
    Request,
    RestSink,
    TokenRequests,
    refusal,
)

ALREADY_ANSWERED = 40060


async def open_target(to: Any, ephemeral: bool | None) -> DeliveryTarget:
    """Return the target that an object of hikari stands for. Raises TypeError.

    An event stands for its message or its interaction.
    """
    hikari = sys.modules["hikari"]
    to = getattr(to, "interaction", None) or to
    if isinstance(to, hikari.CommandInteraction | hikari.ComponentInteraction):
        return await _interaction(hikari, to, ephemeral)
    if ephemeral:
        raise ConfigError("ephemeral: only the answer to an interaction can be ephemeral")
    if isinstance(to, hikari.MessageCreateEvent):
        to = to.message
    if isinstance(to, hikari.Message):
        people = frozenset({int(to.author.id), *map(int, to.user_mentions_ids or ())})
        place = Place(int(to.channel_id), _number(to.guild_id), int(to.id), people)
        return _target(hikari, to.app, place)
    if isinstance(to, hikari.User):
        channel = await to.fetch_dm_channel()
        return _target(hikari, to.app, Place(int(channel.id), people=frozenset({int(to.id)})))
    if isinstance(to, hikari.TextableChannel):
        place = Place(int(to.id), _number(getattr(to, "guild_id", None)))
        return _target(hikari, to.app, place)
    raise TypeError(
        f"deliver: cannot send to {type(to).__name__!r}; pass a message, its event, a channel with "
        "text, a user or an interaction"
    )


def _number(given: Any) -> int | None:
    return None if given is None else int(given)


def _target(hikari: Any, app: Any, place: Place) -> DeliveryTarget:
    sink = RestSink(_requests(hikari, app.rest), place)
    return DeliveryTarget(sink, str(place.channel_id), replies=place.reply_to is not None)


def _requests(hikari: Any, rest: Any) -> Request:
    """Return the library's own requests, with its rate limits."""
    routes = sys.modules["hikari.internal.routes"]

    async def request(method: str, path: str, names: Mapping[str, Any], body: Json | None) -> Any:
        values = {name.removesuffix("_id"): value for name, value in names.items() if value}
        route = routes.Route(method, path.replace("_id}", "}")).compile(**values)
        try:
            return await rest._request(route, json=body)  # noqa: SLF001
        except hikari.HTTPResponseError as error:
            code = int(getattr(error, "code", 0))
            raise refusal(int(error.status), code, str(error.message)) from error
        except (hikari.HTTPError, OSError) as error:
            raise AmbiguousError(f"no answer: {error!r}") from error

    return request


async def _interaction(hikari: Any, interaction: Any, ephemeral: bool | None) -> DeliveryTarget:
    kind = hikari.ResponseType.DEFERRED_MESSAGE_CREATE
    flags = hikari.MessageFlag.EPHEMERAL if ephemeral else hikari.MessageFlag.NONE
    try:
        await interaction.create_initial_response(kind, flags=flags)
        is_ours = True
    except hikari.ClientHTTPResponseError as error:
        if error.code != ALREADY_ANSWERED:
            raise DiscordRefusalError(int(error.code), str(error.message)) from error
        is_ours = False
    rest = interaction.app.rest
    place = Place(
        int(interaction.channel_id),
        _number(interaction.guild_id),
        people=frozenset({int(interaction.user.id)}),
    )
    tokens = TokenRequests(rest._rest_url, int(interaction.application_id), interaction.token)  # noqa: SLF001
    sink = InteractionRestSink(
        _requests(hikari, rest),
        place,
        tokens,
        is_waiting=is_ours,
        is_ephemeral=await tokens.is_ephemeral(ephemeral, is_deferred_here=is_ours),
    )
    return DeliveryTarget(sink, str(place.channel_id), close=sink.close)
