"""Refuses messages: slow mode, blocked words and links, automatic moderation."""

from __future__ import annotations

from fnmatch import fnmatchcase

from oshaberi.stage.api_refusals import refusal
from oshaberi.stage.requests.rate_limits import limited
from oshaberi.stage.stage_state import StageState
from oshaberi.stage.world.discord_records import Channel, Guild, User
from oshaberi.stage.world.permissions import Permission, in_guild


def check_slowmode(state: StageState, channel: Channel, user: User) -> None:
    """Refuse a message that comes too early. Bots are exempt, unless the channel says otherwise."""
    free = Permission.MANAGE_MESSAGES | Permission.MANAGE_CHANNELS | Permission.BYPASS_SLOWMODE
    granted = state.world.permissions_of(user.id, channel)
    exempt = not channel.slowmode_binds_bots if user.bot else bool(granted & free)
    if not channel.slowmode_s or exempt:
        return
    key = (channel.id, user.id)
    wait_s = state.slowmode.get(key, 0.0) - state.now()
    if wait_s > 0:
        raise limited(wait_s, "shared", 20016)
    state.slowmode[key] = state.now() + channel.slowmode_s / state.settings.time_scale


def check_filters(guild: Guild | None, text: str) -> None:
    if guild is None:
        return
    low = text.lower()
    if any(word.lower() in low for word in guild.automod_words):
        raise refusal(200000)
    if any(link.lower() in low for link in guild.harmful_links):
        raise refusal(240000)


def check_automod(guild: Guild | None, channel: Channel, user_id: int, text: str) -> None:
    """Apply the keyword rules that a bot has made. They do not apply to managers of the guild."""
    if guild is None or in_guild(guild, user_id) & Permission.MANAGE_GUILD:
        return
    words = text.lower()
    member = guild.members.get(user_id)
    held = {str(role) for role in member.roles} if member else set()
    for rule in guild.automod_rules.values():
        exempt = str(channel.id) in rule["exempt_channels"] or held & set(rule["exempt_roles"])
        blocks = any(action["type"] == 1 for action in rule["actions"])
        if rule["enabled"] and blocks and not exempt:
            keywords = rule["trigger_metadata"].get("keyword_filter", [])
            if any(fnmatchcase(words, f"*{keyword.lower().strip('*')}*") for keyword in keywords):
                raise refusal(200000)
