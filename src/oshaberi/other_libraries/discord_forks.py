"""What the objects of disnake, nextcord and py-cord mean as the place for an answer.

All three descend from discord.py and have kept its names, so one module serves them. It uses the
library of the object that it is given.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from oshaberi.delivery.sink import AmbiguousError, DeliveryTarget
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

FORKS = ("disnake", "nextcord", "discord")
"""Their packages; py-cord has taken over the name of discord.py's."""


async def open_target(to: Any, ephemeral: bool | None) -> DeliveryTarget:
    """Return the target that an object of a fork stands for. Raises TypeError."""
    library = _library_of(to)
    if hasattr(to, "bot") and hasattr(to, "message") and not isinstance(to, library.Interaction):
        to = getattr(to, "interaction", None) or to.message  # the context of a command
    if isinstance(to, library.Interaction):
        return await _interaction(library, to, ephemeral)
    if ephemeral:
        raise ConfigError("ephemeral: only the answer to an interaction can be ephemeral")
    if isinstance(to, library.Message):
        people = frozenset({to.author.id, *(user.id for user in to.mentions)})
        return _target(library, to.channel, people, reply_to=to.id)
    if isinstance(to, library.User | library.Member):
        return _target(library, to.dm_channel or await to.create_dm(), frozenset({to.id}))
    if isinstance(to, library.abc.Messageable) and hasattr(to, "id"):
        return _target(library, to, frozenset())
    raise TypeError(
        f"deliver: cannot send to {type(to).__name__!r}; pass a message, a channel or thread with "
        "text, a user, a context or an interaction"
    )


def _library_of(to: Any) -> Any:
    packages = [cls.__module__.partition(".")[0] for cls in type(to).__mro__]
    return sys.modules[next(package for package in packages if package in FORKS)]


def _target(
    library: Any, channel: Any, people: frozenset[int], reply_to: int | None = None
) -> DeliveryTarget:
    sink = RestSink(_requests(library, channel._state.http), _place(channel, people, reply_to))  # noqa: SLF001
    return DeliveryTarget(sink, channel=str(channel.id), replies=reply_to is not None)


def _place(channel: Any, people: frozenset[int], reply_to: int | None = None) -> Place:
    guild = getattr(channel, "guild", None)
    me = guild.me if guild is not None else channel._state.user  # noqa: SLF001
    name = None if me is None else me.display_name
    return Place(channel.id, None if guild is None else guild.id, reply_to, people, name)


def _requests(library: Any, http: Any) -> Request:
    """Return the library's own requests, with its rate limits."""

    async def request(method: str, path: str, names: Mapping[str, Any], body: Json | None) -> Any:
        route = library.http.Route(method, path, **names)
        try:
            return await http.request(route, **({} if body is None else {"json": body}))
        except library.HTTPException as error:
            raise refusal(error.status, error.code, error.text) from error
        except OSError as error:
            raise AmbiguousError(f"no answer: {error!r}") from error

    return request


async def _interaction(library: Any, interaction: Any, ephemeral: bool | None) -> DeliveryTarget:
    is_ours = not interaction.response.is_done()
    if is_ours:
        await _defer(library, interaction, is_ephemeral=bool(ephemeral))
    tokens = TokenRequests(
        library.http.Route("GET", "").url, interaction.application_id, interaction.token
    )
    sink = InteractionRestSink(
        _requests(library, interaction._state.http),  # noqa: SLF001
        _place(interaction.channel, frozenset({interaction.user.id})),
        tokens,
        is_waiting=is_ours,
        is_ephemeral=await tokens.is_ephemeral(ephemeral, is_deferred_here=is_ours),
    )
    return DeliveryTarget(sink, channel=str(interaction.channel.id), close=sink.close)


async def _defer(library: Any, interaction: Any, *, is_ephemeral: bool) -> None:
    """Defer with a new message, even after a button. py-cord names the method differently."""
    is_py_cord = library.__name__ == "discord"
    options = {"invisible": False} if is_py_cord else {"with_message": True}
    await interaction.response.defer(ephemeral=is_ephemeral, **options)
