"""Checks what the bot may do in each channel: permissions, overwrites, webhooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oshaberi.bot.config.going_live import (
    ADMINISTRATOR,
    NEEDED,
    SEND,
    WANTED,
    HttpAnswer,
    error_words,
    lacking,
)
from oshaberi.cli.doctor_checks.finding import Finding, bad, good, note
from oshaberi.terminal_output import counted

PATIENCE_S = 10.0
MOST_BYTES = 4 * 1024 * 1024


async def hears_from(url: str) -> str | None:
    """Open a WebSocket. Return why nothing arrived; None if something did."""
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
        return error_words(error)


# The permissions that the bot uses, and how the overwrites of a channel change them.


VIEW = NEEDED["View Channels"]
CHANNEL_NEEDED = {
    SEND: NEEDED[SEND],
    **{name: WANTED[name] for name in ("Embed Links", "Attach Files", "Manage Webhooks")},
    "Read Message History": NEEDED["Read Message History"],
}
EVERYTHING = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class ChannelOverwrites:
    """The overwrites of a channel: what is denied and allowed, by the id of a role or member."""

    by_id: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, listed: Iterable[Mapping[str, Any]]) -> ChannelOverwrites:
        return cls(
            {
                str(one.get("id")): (int(one.get("deny", 0)), int(one.get("allow", 0)))
                for one in listed
            }
        )

    def applied(
        self, granted: int, server_id: str, roles: frozenset[str], my_id: str, *, is_owner: bool
    ) -> int:
        """Return the permissions in the channel of a member who has `granted` in the server.

        Discord applies the overwrite of @everyone (its id is the server's), then those of all
        roles together, then the member's own.
        """
        if is_owner or granted & ADMINISTRATOR:
            return EVERYTHING
        for ids in ({server_id}, roles - {server_id}, {my_id}):
            deny, allow = self._together(ids)
            granted = granted & ~deny | allow
        return granted

    def _together(self, ids: Iterable[str]) -> tuple[int, int]:
        deny = allow = 0
        for one in ids:
            denied, allowed = self.by_id.get(one, (0, 0))
            deny, allow = deny | denied, allow | allowed
        return deny, allow


# The checks. Channels that the bot cannot see are left out: most of them are hidden on purpose.


Get = Callable[[str], Awaitable[HttpAnswer]]
Json = Mapping[str, Any]

MOST_SERVERS = 50
"""How many servers are checked. Each takes three requests."""
MOST_NAMED = 8
MOST_WEBHOOKS = 15
TALK_KINDS = frozenset({0, 2, 5, 13, 15, 16})
"""Channels with messages or posts: text, voice, announcements, stages, forums, media."""
ADVICE = "if that is not on purpose, see Permissions in the settings of these channels"


@dataclass(frozen=True, slots=True)
class _ServerChannels:
    """What was found in one server."""

    name: str
    writable: int
    """The number of channels in which the bot may write."""
    visible: int
    hidden: int
    lacking: tuple[tuple[str, tuple[str, ...]], ...]
    """Channels by name, with the permissions that their overwrites take from the bot."""
    crowded: tuple[str, ...]
    """Channels that have no room for a webhook of the bot."""

    @property
    def is_silent(self) -> bool:
        """Return whether overwrites keep the bot from writing anywhere."""
        return not self.writable and bool(self.lacking)


async def examine(
    get: Get, guilds: Sequence[Json], my_id: str, application_id: str
) -> AsyncIterator[Finding]:
    """Yield findings about the channels of these servers."""
    found: list[_ServerChannels] = []
    for guild in guilds[:MOST_SERVERS]:
        looked = await _inspect(get, guild, my_id, application_id)
        if isinstance(looked, Finding):
            yield looked
            return
        found.append(looked)
    yield _permissions(found, len(guilds))
    crowded = [f"#{name} in {one.name}" for one in found for name in one.crowded]
    if crowded:
        yield note(
            "webhooks",
            f"no room for one in {_some(crowded)}: {MOST_WEBHOOKS} are there; personas speak there "
            "under the bot's own name",
            "delete one in the settings of the channel → Integrations → Webhooks",
        )


async def _inspect(
    get: Get, guild: Json, my_id: str, application_id: str
) -> _ServerChannels | Finding:
    server_id = str(guild.get("id", ""))
    member = await get(f"/guilds/{server_id}/members/{my_id}")
    channels = await get(f"/guilds/{server_id}/channels")
    for answer in (member, channels):
        if answer.status != 200:
            return note("channels", f"could not be checked: {answer.reason}")
    here = [one for one in _objects(channels.body) if one.get("type") in TALK_KINDS]
    roles = frozenset(map(str, member.fields.get("roles", ())))
    allowed = [(one, _permissions_in(guild, one, roles, my_id)) for one in here]
    visible = [(one, granted) for one, granted in allowed if granted & VIEW]
    missing_by_channel = [
        (str(one.get("name", "?")), _missing_permissions(guild, granted))
        for one, granted in visible
    ]
    webhooks = await get(f"/guilds/{server_id}/webhooks")
    crowded = _channels_full_of_webhooks([one for one, _ in visible], webhooks, application_id)
    return _ServerChannels(
        str(guild.get("name", "?")),
        writable=sum(bool(granted & NEEDED[SEND]) for _, granted in visible),
        visible=len(visible),
        hidden=len(here) - len(visible),
        lacking=tuple((name, missing) for name, missing in missing_by_channel if missing),
        crowded=crowded,
    )


def _missing_permissions(guild: Json, allowed: int) -> tuple[str, ...]:
    """Return what is missing in a channel only. What is missing everywhere has its own finding."""
    everywhere = lacking(CHANNEL_NEEDED, int(guild.get("permissions", 0)))
    return tuple(one for one in lacking(CHANNEL_NEEDED, allowed) if one not in everywhere)


def _permissions_in(guild: Json, channel: Json, roles: frozenset[str], my_id: str) -> int:
    overwrites = ChannelOverwrites.of(_objects(channel.get("permission_overwrites")))
    granted = int(guild.get("permissions", 0))
    is_owner = bool(guild.get("owner"))
    return overwrites.applied(granted, str(guild.get("id", "")), roles, my_id, is_owner=is_owner)


def _channels_full_of_webhooks(
    channels: Iterable[Json], webhooks: HttpAnswer, application_id: str
) -> tuple[str, ...]:
    """Return the channels that are full of others' webhooks; none if the bot may not list them."""
    listed = _objects(webhooks.body) if webhooks.status == 200 else []
    ours = {one.get("channel_id") for one in listed if _is_of(one, application_id)}
    counts = Counter(one.get("channel_id") for one in listed)
    return tuple(
        str(one.get("name", "?"))
        for one in channels
        if counts[one.get("id")] >= MOST_WEBHOOKS and one.get("id") not in ours
    )


def _is_of(webhook: Json, application_id: str) -> bool:
    return str(webhook.get("application_id")) == application_id


def _permissions(found: Sequence[_ServerChannels], servers: int) -> Finding:
    visible, hidden = sum(one.visible for one in found), sum(one.hidden for one in found)
    more = f"; hidden from it: {hidden}" if hidden else ""
    if servers > len(found):
        more += f"; only {len(found)} of {servers} servers were looked at"
    lines = [line for one in found for line in _lines(one)]
    if not lines:
        return good(
            "channels", f"nothing is taken from the bot in {counted(visible, 'channel')}{more}"
        )
    silent = [one.name for one in found if one.is_silent]
    text = f"missing in {_some(lines)}{more}"
    if silent:
        text = f"the bot can write nowhere in {_some(silent)}; {text}"
        return bad("channels", text, "grant Send Messages in the settings of a channel")
    return note("channels", text, ADVICE)


def _lines(one: _ServerChannels) -> list[str]:
    """Describe a server. Channels that lack the same permissions are named together."""
    together: dict[tuple[str, ...], list[str]] = {}
    for name, missing in one.lacking:
        together.setdefault(missing, []).append(f"#{name}")
    return [
        f"{one.name} {_some(names)}: {', '.join(missing)}" for missing, names in together.items()
    ]


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    shown = names if more <= 0 else [*names[:MOST_NAMED], f"{more} more"]
    return ("; " if any(": " in name for name in names) else ", ").join(shown)


def _objects(body: Any) -> list[Json]:
    return [one for one in body if isinstance(one, dict)] if isinstance(body, list) else []
