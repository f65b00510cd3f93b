"""From nothing to a bot on Discord: what `oshaberi init` and the page of the local stage share.

A token is checked by asking Discord; the invitation asks for exactly what the bot uses; then the
settings go into `oshaberi.toml`, and the secrets into `oshaberi.env` beside it.
"""

from __future__ import annotations

import json
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oshaberi import __version__
from oshaberi.bot.config.secrets_file import add_secrets, beside, read_secrets, write_privately
from oshaberi.checked_json import parse_json
from oshaberi.errors import ConfigError
from oshaberi.foreign_bodies import PLAIN, BodyTooLargeError, PackedBodyError, answer_body

# One HTTP request: its response, or why there is none. It never contains secrets.


PATIENCE_S = 10.0
MOST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer. `status` is 0 if there was none; `body` is JSON, or an empty object."""

    status: int
    body: Any
    reason: str = ""

    @property
    def fields(self) -> Mapping[str, Any]:
        """Return the body if it is an object, else an empty one."""
        return self.body if isinstance(self.body, dict) else {}


async def ask(url: str, headers: Mapping[str, str]) -> HttpAnswer:
    try:
        import aiohttp
    except ImportError:
        return HttpAnswer(0, {}, 'aiohttp is not installed: pip install "oshaberi[bot]"')
    patience = aiohttp.ClientTimeout(total=PATIENCE_S)
    try:
        async with (
            aiohttp.ClientSession(
                timeout=patience, headers={**PLAIN, **headers}, auto_decompress=False
            ) as session,
            session.get(url, allow_redirects=False) as response,
        ):
            body = _json(await answer_body(response, MOST_BYTES))
            return HttpAnswer(response.status, body, f"HTTP {response.status}")
    except TimeoutError:
        return HttpAnswer(0, {}, f"no answer within {PATIENCE_S:.0f} s")
    except (BodyTooLargeError, PackedBodyError) as error:
        return HttpAnswer(0, {}, str(error))
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return HttpAnswer(0, {}, error_words(error))


def _json(content: bytes) -> Any:
    try:
        return parse_json(content)
    except ValueError:
        return {}


def error_words(error: Exception) -> str:
    reason = getattr(error, "strerror", None)
    return f"{type(error).__name__}: {reason}" if reason else type(error).__name__


# What the bot needs from Discord: its intents, its permissions, and the link that asks for them.


API_PATH = "/api/v10"
DISCORD = "https://discord.com"
PORTAL = f"{DISCORD}/developers/applications"
STAGE_VARIABLE = "DISCORD_STAGE_URL"
"""The address of a stage that plays Discord."""
MESSAGE_CONTENT = (1 << 18) | (1 << 19)
"""Application flags: granted, or granted to a bot in few servers."""
SEND = "Send Messages"
NEEDED = {
    "View Channels": 1 << 10,
    SEND: 1 << 11,
    "Read Message History": 1 << 16,
}
WANTED = {
    "Send Messages in Threads": 1 << 38,
    "Manage Webhooks": 1 << 29,
    "Embed Links": 1 << 14,
    "Attach Files": 1 << 15,
    "Add Reactions": 1 << 6,
    "Use External Emoji": 1 << 18,
}


ADMINISTRATOR = 1 << 3


@dataclass(frozen=True, slots=True)
class JoinedServer:
    """A server that the bot is in already, and which permissions its roles do not give it there."""

    name: str
    needed: tuple[str, ...] = ()
    """Without these it cannot answer."""
    wanted: tuple[str, ...] = ()
    """Without these something is missing: faces of personas, pictures of tables."""


def joined_server(guild: Mapping[str, Any]) -> JoinedServer:
    """Return what Discord's list of a bot's servers says about one of them."""
    name, granted = str(guild.get("name", "?")), guild.get("permissions")
    if not isinstance(granted, str) or not granted.isdecimal() or len(granted) > 30:
        return JoinedServer(name)
    bits = int(granted)
    if bits & ADMINISTRATOR:
        return JoinedServer(name)
    return JoinedServer(name, lacking(NEEDED, bits), lacking(WANTED, bits))


def lacking(asked: Mapping[str, int], granted: int) -> tuple[str, ...]:
    """Return the names of the permissions that are not granted."""
    return tuple(name for name, bit in asked.items() if not granted & bit)


def invitation(application_id: str) -> str:
    """Return the link that adds the bot to a server, with the permissions that it uses."""
    wanted = sum({**NEEDED, **WANTED}.values())
    scope = "bot+applications.commands"
    return (
        f"{DISCORD}/oauth2/authorize?client_id={application_id}&scope={scope}&permissions={wanted}"
    )


class DiscordApi:
    """Discord's API, used with one token. `api_url` can be a proxy."""

    def __init__(self, token: str, environ: Mapping[str, str], api_url: str | None = None) -> None:
        place = (api_url or environ.get(STAGE_VARIABLE) or DISCORD).rstrip("/")
        self._base = f"{place.removesuffix(API_PATH)}{API_PATH}"
        agent = f"DiscordBot (oshaberi, {__version__})"
        self._headers = {"Authorization": f"Bot {token}", "User-Agent": agent}

    async def get(self, path: str) -> HttpAnswer:
        return await ask(f"{self._base}{path}", self._headers)


@dataclass(frozen=True, slots=True)
class DiscordAccount:
    """The account of a token. `intents_link` leads to the switch that is off; empty if it is on."""

    name: str
    application_id: str
    servers: tuple[JoinedServer, ...]
    intents_link: str

    @property
    def invitation(self) -> str:
        return invitation(self.application_id)


async def account_of(token: str, environ: Mapping[str, str]) -> DiscordAccount:
    """Ask Discord whose token this is. Raises ConfigError, which says what to do."""
    token = checked_token(token)
    api = DiscordApi(token, environ)
    me = await api.get("/users/@me")
    if me.status in (401, 403):
        raise ConfigError(
            f"Discord refuses this token: copy it again, or make a new one ({PORTAL}, Bot, Reset "
            "Token)"
        )
    application = await api.get("/applications/@me")
    for answer in (me, application):
        if answer.status != 200:
            raise ConfigError(f"Discord could not be asked ({answer.reason}): try it again")
    guilds = await api.get("/users/@me/guilds")
    joined = guilds.body if isinstance(guilds.body, list) else []
    number = str(application.fields.get("id", ""))
    hears = int(application.fields.get("flags", 0)) & MESSAGE_CONTENT
    return DiscordAccount(
        str(me.fields.get("username", "?")),
        number,
        tuple(joined_server(one) for one in joined if isinstance(one, dict)),
        "" if hears else f"{PORTAL}/{number}/bot",
    )


def checked_token(token: str) -> str:
    """Return the token without spaces around it. Raises if it cannot be a token."""
    text = token.strip().removeprefix("Bot ").strip()
    if not text:
        raise ConfigError("the token is missing: paste it from the page Bot of the application")
    if not (text.isascii() and text.isprintable()) or " " in text or len(text) > 300:
        raise ConfigError("this is not a bot token: copy the whole token, and nothing else")
    return text


# Writing the settings.


TOKEN_VARIABLE = "OSHABERI_DISCORD_TOKEN"


@dataclass(frozen=True, slots=True)
class LiveModel:
    """The model of a bot that goes live. `key` is its API key, if it has one."""

    provider: str
    model: str
    base_url: str | None = None
    key: str | None = None


def write_settings(
    file: Path, token: str, model: LiveModel | None, persona: str | None = None
) -> list[Path]:
    """Write the settings and the secrets. Return the files that were written.

    A settings file that exists is kept as it is, with a model added if it has none.
    """
    before = _present(file)
    added = {TOKEN_VARIABLE: checked_token(token)}
    text = ""
    if model is not None and not before.get("models"):
        text, secret = _model_table(model, read_secrets(beside(file)))
        added |= secret
    if persona and "persona" not in before:
        text += f"\n[persona]\nname = {_quoted(persona)}\n"
    start = file.read_text(encoding="utf-8-sig") if file.exists() else _HEAD
    whole = f"{start.rstrip()}\n{text}"
    try:
        tomllib.loads(whole)
    except tomllib.TOMLDecodeError:
        raise ConfigError(f"{file}: has no place for [[models]]: remove `models = []`") from None
    add_secrets(beside(file), added)
    written = [beside(file)]
    if text:
        # An existing file may contain keys, so its permissions must not become wider.
        mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else OTHERS_MAY_READ
        write_privately(file, whole, mode)
        written.append(file)
    return written


OTHERS_MAY_READ = 0o644
_HEAD = """\
# Settings of Oshaberi. `oshaberi settings` explains all of them, `oshaberi doctor` checks them.
# Secrets are in oshaberi.env.
"""


def _present(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise ConfigError(f"{file}: has a mistake; `oshaberi doctor` shows it") from None
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from None


def _model_table(model: LiveModel, kept: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the table of a model, and the variable with its key."""
    from oshaberi.providers.presets import PRESETS

    preset = PRESETS.get(model.provider)
    lines = ["", "[[models]]", f"provider = {_quoted(model.provider)}"]
    lines.append(f"model = {_quoted(model.model)}")
    own = preset.base_url if preset is not None else None
    is_elsewhere = model.base_url is not None and model.base_url != own
    if is_elsewhere:
        lines.append(f"base_url = {_quoted(str(model.base_url))}")
    if not model.key:
        return "\n".join(lines) + "\n", {}
    usual = preset.key_name if preset is not None and not is_elsewhere else None
    variable = usual or "MODEL_KEY_1"
    while usual is None and variable in kept:
        variable = f"{variable.rpartition('_')[0]}_{int(variable.rpartition('_')[2]) + 1}"
    if usual is None:
        lines.append(f"api_key_env = {_quoted(variable)}")
    return "\n".join(lines) + "\n", {variable: model.key}


def _quoted(text: str) -> str:
    """Return a TOML text. JSON's escapes are TOML's as well, apart from DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
