"""Lets people join a guild, leave it, and change in it. Every change sends an event."""

from __future__ import annotations

from discord_stage.errors import StageError
from discord_stage.payloads import record_payloads
from discord_stage.refusals import refusal
from discord_stage.state import StageState
from discord_stage.world.ids import now_iso
from discord_stage.world.records import Guild, Json, Member, User


def new_user(state: StageState, name: str, *, bot: bool = False) -> User:
    """Return the user of that name; create one if there is none."""
    for user in state.world.users.values():
        if user.name == name:
            return user
    user = User(state.world.snowflakes.new(), name, bot=bot)
    state.world.users[user.id] = user
    return user


def join(state: StageState, guild: Guild, user: User) -> Member:
    if user.id in guild.members:
        raise StageError(f"{user.name} is in {guild.name} already")
    if user.id in guild.bans:
        raise refusal(40007)
    member = guild.members[user.id] = Member(user, now_iso())
    data = record_payloads.member(member) | {"guild_id": str(guild.id)}
    state.emit("GUILD_MEMBER_ADD", data, guild_id=guild.id)
    return member


def leave(state: StageState, guild: Guild, user_id: int) -> None:
    """Remove a member who left, was kicked or was banned. Their messages stay."""
    member = guild.members.get(user_id)
    if member is None:
        raise refusal(10007)
    if user_id == guild.owner_id:
        raise StageError(f"{member.user.name} owns {guild.name} and cannot leave it")
    del guild.members[user_id]
    for channel in state.world.channels.values():
        if channel.guild_id == guild.id and channel.thread is not None:
            channel.thread.members.pop(user_id, None)
    data: Json = {"guild_id": str(guild.id), "user": record_payloads.user(member.user)}
    state.emit("GUILD_MEMBER_REMOVE", data, guild_id=guild.id)


def changed(state: StageState, guild: Guild, member: Member) -> Json:
    """Send the event of a changed member. Return the member as REST returns it."""
    data = record_payloads.member(member)
    state.emit("GUILD_MEMBER_UPDATE", data | {"guild_id": str(guild.id)}, guild_id=guild.id)
    return data


def ban(state: StageState, guild: Guild, user: User, reason: str | None) -> None:
    if user.id in guild.members:
        leave(state, guild, user.id)
    guild.bans[user.id] = reason
    _tell_ban(state, "GUILD_BAN_ADD", guild, user)


def unban(state: StageState, guild: Guild, user: User) -> None:
    if user.id not in guild.bans:
        raise refusal(10026)
    del guild.bans[user.id]
    _tell_ban(state, "GUILD_BAN_REMOVE", guild, user)


def _tell_ban(state: StageState, name: str, guild: Guild, user: User) -> None:
    data: Json = {"guild_id": str(guild.id), "user": record_payloads.user(user)}
    state.emit(name, data, guild_id=guild.id)


def top_position(guild: Guild, user_id: int) -> int:
    """Return the position of a member's highest role. The owner is above all."""
    if user_id == guild.owner_id:
        return 1 << 30
    member = guild.members.get(user_id)
    roles = [guild.roles[r] for r in member.roles if r in guild.roles] if member else []
    return max((role.position for role in roles), default=0)
