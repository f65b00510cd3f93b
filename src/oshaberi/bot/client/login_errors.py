"""Explains in one line why the bot cannot connect to Discord, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import aiohttp
import discord

from oshaberi.errors import ConfigError, TemporaryError


@contextmanager
def explained_login() -> Iterator[None]:
    """Turn errors of login and connection into a one-line ConfigError or TemporaryError."""
    try:
        yield
    except discord.LoginFailure:
        raise ConfigError(
            "discord_token: Discord does not accept it; copy it again from the bot's page in "
            "the Developer Portal"
        ) from None
    except discord.PrivilegedIntentsRequired:
        raise ConfigError(
            "Discord refuses the intents: switch on Message Content Intent on the bot's page "
            "in the Developer Portal"
        ) from None
    except (aiohttp.ClientConnectionError, TimeoutError) as error:
        raise TemporaryError(
            f"Discord cannot be reached: {_host()}: {_reason(error)}; check the network "
            "of this machine, then start the bot again"
        ) from None
    except discord.HTTPException as error:
        raise TemporaryError(
            f"Discord refuses the connection: {_host()} answers HTTP {error.status}; "
            "try again later, and see https://discordstatus.com"
        ) from None


def _host() -> str:
    return urlsplit(discord.http.Route.BASE).netloc


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
