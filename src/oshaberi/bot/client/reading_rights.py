"""Who may read what: one person, and everybody who sees a channel.

The second is decided without a list of members, which the bot does not have. Whoever sees a channel
does so through one *way in*: as @everyone, by a role, or by a permission of their own. If each way
into the one channel also leads into the other, and the other denies nothing to single roles or
people, then everybody who sees the first may read the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import discord

from oshaberi.bot.client.discord_values import AnyUser, may_see

Place: TypeAlias = "discord.abc.GuildChannel | discord.Thread"

VIEW = discord.Permissions(view_channel=True).value
HISTORY = discord.Permissions(read_message_history=True).value
CONNECT = discord.Permissions(connect=True).value
ADMINISTRATOR = discord.Permissions(administrator=True).value
_VOCAL = (discord.VoiceChannel, discord.StageChannel)


def may_read(place: Place, viewer: AnyUser | None) -> bool:
    """Return whether somebody may read a channel's messages, old ones too.

    A non-member may read what @everyone may. Of private threads, it knows only that whoever manages
    threads reads them.
    """
    return may_see(place, viewer) and reads_history(place, viewer)


def reads_history(place: Place, viewer: AnyUser | None) -> bool:
    """Return whether somebody may read a channel's messages, provided that they are in it.

    Only a private thread has to be joined.
    """
    whose = viewer if isinstance(viewer, discord.Member) else place.guild.default_role
    try:
        allowed = place.permissions_for(whose)
    except discord.ClientException:
        return False  # a thread whose parent we cannot see
    hears = allowed.connect or not isinstance(place, _VOCAL)
    return allowed.view_channel and allowed.read_message_history and hears


class Audience:
    """Everybody who sees the channel `here`."""

    def __init__(self, here: Place) -> None:
        self._here = here
        self._parent = _parent_of(here)
        self._access = None if self._parent is None else _access(self._parent)
        self._ways = () if self._access is None else tuple(_ways_in(self._access))

    def reads(self, there: Place, *, with_history: bool = True) -> bool:
        """Return whether all of them may read the channel `there`.

        It errs on the safe side: False may be wrong. For the channel itself it is True.
        """
        if there == self._here:
            return True
        if isinstance(there, discord.Thread) and there.is_private():
            return False
        parent = _parent_of(there)
        if self._access is None or parent is None:
            return False
        if parent == self._parent and not with_history:
            return True
        theirs = _access(parent)
        bits = [VIEW, *([HISTORY] if with_history else [])]
        bits += [CONNECT] if isinstance(parent, _VOCAL) else []
        return all(
            (bit == VIEW and self._access.view == theirs.view)
            or (not theirs.denies(bit) and self._leads(theirs, bit))
            for bit in bits
        )

    def _leads(self, there: _Access, bit: int) -> bool:
        """Return whether each way into this channel gives this permission in the other.

        If @everyone has it there, everybody has.
        """
        return bool(there.of((0, 0)) & bit) or all(there.of(way) & bit for way in self._ways)


@dataclass(frozen=True, slots=True)
class _Access:
    """The overwrites of a channel: what each allows and denies."""

    guild: discord.Guild
    everyone: tuple[int, int] = (0, 0)
    roles: dict[int, tuple[int, int]] = field(default_factory=dict)
    members: dict[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def view(self) -> tuple[object, ...]:
        """Return what decides who sees the channel."""
        everyone = self.everyone[0] & VIEW, self.everyone[1] & VIEW
        return everyone, *(
            {key: (yes & VIEW, no & VIEW) for key, (yes, no) in table.items() if (yes | no) & VIEW}
            for table in (self.roles, self.members)
        )

    def denies(self, bit: int) -> bool:
        """Return whether a role or a member is denied something."""
        return any(no & bit for table in (self.roles, self.members) for _, no in table.values())

    def of(self, way: tuple[int, int]) -> int:
        """Return the permissions of somebody who comes in only this way."""
        role_id, member_id = way
        role = self.guild.get_role(role_id)
        value = self.guild.default_role.permissions.value
        value |= 0 if role is None else role.permissions.value
        if value & ADMINISTRATOR:
            return discord.Permissions.all().value
        for yes, no in (
            self.everyone,
            self.roles.get(role_id, (0, 0)),
            self.members.get(member_id, (0, 0)),
        ):
            value = value & ~no | yes
        return value


def _ways_in(here: _Access) -> Iterator[tuple[int, int]]:
    """Yield the ways in, each as a role (0: none) and a member. Other bots do not count."""
    others = (one for one in here.guild.roles if not (one.is_default() or one.is_bot_managed()))
    roles = ((role.id, 0) for role in others)
    for way in ((0, 0), *roles, *((0, member) for member in here.members)):
        if here.of(way) & VIEW:
            yield way


def _access(place: discord.abc.GuildChannel) -> _Access:
    roles: dict[int, tuple[int, int]] = {}
    members: dict[int, tuple[int, int]] = {}
    everyone = (0, 0)
    # `place.overwrites` would lose a permission that is both allowed and denied: it is allowed.
    for one in place._overwrites:  # noqa: SLF001
        if one.id == place.guild.id:
            everyone = one.allow, one.deny
        else:
            (roles if one.is_role() else members)[one.id] = one.allow, one.deny
    return _Access(place.guild, everyone, roles, members)


def _parent_of(place: Place) -> discord.abc.GuildChannel | None:
    """Return the channel whose permissions count: for a thread, its parent."""
    return place.parent if isinstance(place, discord.Thread) else place
