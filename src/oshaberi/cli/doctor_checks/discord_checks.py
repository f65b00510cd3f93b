"""Checks the token, the intents and the bot's permissions in its servers, by asking Discord."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from oshaberi.bot.config.going_live import (
    ADMINISTRATOR,
    MESSAGE_CONTENT,
    NEEDED,
    PORTAL,
    STAGE_VARIABLE,
    WANTED,
    DiscordApi,
    HttpAnswer,
    invitation,
    lacking,
)
from oshaberi.cli.doctor_checks import channel_checks
from oshaberi.cli.doctor_checks.channel_checks import hears_from
from oshaberi.cli.doctor_checks.finding import Finding, bad, good, note

if TYPE_CHECKING:
    from oshaberi.bot.config import LoadedSettings

GATEWAY = "wss://gateway.discord.gg/?v=10&encoding=json"
MOST_NAMED = 5
RATE_LIMITED = 429


async def examine(
    settings: LoadedSettings, environ: Mapping[str, str], *, offline: bool = False
) -> AsyncIterator[Finding]:
    if settings.discord_token is None:
        advice = "set OSHABERI_DISCORD_TOKEN to run the bot on Discord"
        yield note("token", "none; the bot runs on the local stage", advice)
        return
    if offline:
        place = settings.origin("discord_token")
        yield note("token", f"is set (from {place}); Discord was not asked (--offline)")
        return
    discord = DiscordApi(settings.discord_token, environ, settings.discord_api_url)
    stage = environ.get(STAGE_VARIABLE)
    # A proxy for requests does not apply to the gateway.
    gateway = f"{stage.rstrip('/').replace('http', 'ws', 1)}/gw/" if stage else GATEWAY
    me = await discord.get("/users/@me")
    yield _sides(me, await hears_from(gateway))
    yield _token(me)
    if me.status != 200:
        return
    application = await discord.get("/applications/@me")
    yield _intents(application)
    guilds = await discord.get("/users/@me/guilds")
    yield _servers(guilds, application)
    if guilds.status == 200 and guilds.body:
        known = [one for one in guilds.body if isinstance(one, dict)]
        ids = str(me.fields.get("id", "")), str(application.fields.get("id", ""))
        async for finding in channel_checks.examine(discord.get, known, *ids):
            yield finding


def _sides(me: HttpAnswer, gateway: str | None) -> Finding:
    """Return whether Discord can be reached: through the gateway and through REST."""
    rest = None if 0 < me.status < 500 and me.status != RATE_LIMITED else me.reason
    problems = {"REST": rest, "gateway": gateway}
    if rest is None and gateway is None:
        return good("discord", "REST and gateway answer")
    text = "; ".join(f"{side}: {problem or 'answers'}" for side, problem in problems.items())
    return bad("discord", text, "check your network, and see https://discordstatus.com")


def _token(me: HttpAnswer) -> Finding:
    if me.status == 200:
        return good("token", f"Discord accepts it: {me.fields.get('username', '?')}")
    if me.status in (401, 403):
        return bad(
            "token",
            "Discord refuses it",
            f"create a new one ({PORTAL} → Bot → Reset Token) and set OSHABERI_DISCORD_TOKEN",
        )
    return bad("token", f"could not be checked: {me.reason}", "check your network")


def _intents(application: HttpAnswer) -> Finding:
    if application.status != 200:
        return note("intents", f"could not be checked: {application.reason}")
    if int(application.fields.get("flags", 0)) & MESSAGE_CONTENT:
        return good("intents", "Message Content is on")
    advice = f"switch it on under {PORTAL} → Bot → Privileged Gateway Intents"
    return bad("intents", "Message Content is off: the bot cannot read what people write", advice)


def _servers(guilds: HttpAnswer, application: HttpAnswer) -> Finding:
    if guilds.status != 200 or not isinstance(guilds.body, list):
        return note("permissions", f"could not be checked: {guilds.reason}")
    if not guilds.body:
        return note(
            "permissions",
            "the bot is in no server",
            f"invite it: {invitation(_id_of(application))}",
        )
    lacking = {
        guild.get("name", "?"): _missing(guild) for guild in guilds.body if isinstance(guild, dict)
    }
    named = [f"{name}: {', '.join(lost)}" for name, lost in lacking.items() if lost]
    if not named:
        return good("permissions", f"complete in {_servers_told(len(guilds.body))}")
    left = len(named) - MOST_NAMED
    more = f" and {_servers_told(left, 'more ')}" if left > 0 else ""
    text = f"missing in {'; '.join(named[:MOST_NAMED])}{more}"
    cannot = any(set(lost) & set(NEEDED) for lost in lacking.values())
    advice = "grant them to the bot's role in Server Settings → Roles"
    return (bad if cannot else note)("permissions", text, advice)


def _servers_told(count: int, more: str = "") -> str:
    return f"{count} {more}server{'' if count == 1 else 's'}"


def _missing(guild: Mapping[str, Any]) -> list[str]:
    granted = int(guild.get("permissions", 0))
    if guild.get("owner") or granted & ADMINISTRATOR:
        return []
    return list(lacking({**NEEDED, **WANTED}, granted))


def _id_of(application: HttpAnswer) -> str:
    return str(application.fields.get("id", "…")) if application.status == 200 else "…"
