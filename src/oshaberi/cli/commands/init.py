"""`oshaberi init`: from a token to the settings that bring `oshaberi run` onto Discord."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oshaberi.cli.options import config_option, take_secrets
from oshaberi.errors import ConfigError

if TYPE_CHECKING:
    from oshaberi.bot.config.going_live import DiscordAccount, LiveModel
    from oshaberi.providers.presets import Preset

DEFAULT_PROVIDER = "openai"
MOST_LISTED = 12
MOST_LOOKS = 20
"""How often a switch of Discord is checked again."""


@click.command(short_help="Put a bot on Discord: ask for token and model, write the settings.")
@click.option("--provider", help="Who runs the model: openai, anthropic, ollama, …")
@click.option("--model", help="The model, as its provider calls it.")
@click.option("--base-url", help="The address of the model's server, if it is not the usual one.")
@click.option("--persona", help="The name of the bot's persona. Default: that of the bot.")
@click.option("--yes", is_flag=True, help="Ask nothing: what is not given keeps its default.")
@config_option
def command(
    provider: str | None,
    model: str | None,
    base_url: str | None,
    persona: str | None,
    yes: bool,
    config_file: Path | None,
) -> None:
    """Ask for what a bot on Discord needs, try it out, and write the settings.

    The token is checked, the invitation is shown, and the model answers one short question. Then
    the settings go into oshaberi.toml, and the secrets into oshaberi.env, which only you can read.
    Whatever oshaberi.toml already contains is kept. If something fails, nothing is written.

    Secrets do not show while you type them. They can also come from the environment, from
    OSHABERI_DISCORD_TOKEN and the usual variable for the provider's key, such as OPENAI_API_KEY.

    \b
    Examples:
      oshaberi init
      OSHABERI_DISCORD_TOKEN=… OPENAI_API_KEY=… oshaberi init --yes --model gpt-5
      oshaberi init --provider ollama --model llama3
    """
    from oshaberi.bot.config.going_live import TOKEN_VARIABLE, write_settings
    from oshaberi.bot.config.loading import settings_file

    take_secrets(config_file)
    _check_options(provider, base_url)
    questions = _Questions(yes)
    token = os.environ.get(TOKEN_VARIABLE, "").strip() or questions.secret(
        "Token of the bot (https://discord.com/developers/applications, Bot)", TOKEN_VARIABLE
    )
    account = asyncio.run(_checked_account(token, questions))
    chosen = asyncio.run(_tried_model(provider, model, base_url, questions))
    name = persona or questions.text("Name of its persona", account.name)
    path, _required = settings_file(config_file, os.environ)
    for written in write_settings(path, token, chosen, name):
        click.echo(f"✓ wrote {written}")
    click.echo("\nStart it: oshaberi run")


def _check_options(provider: str | None, base_url: str | None) -> None:
    """Refuse options that are certainly wrong before asking anything."""
    from oshaberi.providers.model_addresses import whole_address
    from oshaberi.providers.registry import unknown

    if provider is not None and provider not in _providers():
        raise ConfigError(unknown("--provider", provider, _providers()))
    if base_url is not None:
        whole_address(provider or DEFAULT_PROVIDER, base_url)


def _providers() -> list[str]:
    """Return the providers to choose from. Cloud models are written into the file by hand."""
    from oshaberi.providers.presets import PRESETS

    return [name for name, one in PRESETS.items() if name != "replay" and not one.cloud]


class _Questions:
    """Asks, or with `--yes` takes the defaults."""

    def __init__(self, yes: bool) -> None:
        self.asks = not yes

    def text(self, question: str, default: str | None, option: str = "") -> str:
        if self.asks:
            return str(click.prompt(question, default=default)).strip()
        if default is None:
            raise ConfigError(f"{option} is needed with --yes")
        return default

    def secret(self, question: str, variable: str) -> str:
        if self.asks:
            return str(click.prompt(question, hide_input=True, default="", show_default=False))
        raise ConfigError(f"{variable} is missing: set it, or leave out --yes")


async def _checked_account(token: str, questions: _Questions) -> DiscordAccount:
    """Say whose token this is, what must be switched on, and how to invite the bot."""
    from oshaberi.bot.config.going_live import account_of
    from oshaberi.terminal_output import harmless

    account = await account_of(token, os.environ)
    click.echo(f"✓ Discord accepts the token: {account.name}")
    for _ in range(MOST_LOOKS):
        if not account.intents_link:
            click.echo("✓ Message Content is on")
            break
        click.echo(f"✗ Message Content is off: switch it on at {account.intents_link}")
        if not questions.asks or not click.confirm("Look again?", default=True):
            break
        account = await account_of(token, os.environ)
    for one in account.servers:
        for sign, names in (("✗", one.needed), ("–", one.wanted)):
            if names:
                what = "cannot answer" if sign == "✗" else "works"
                place = harmless(f"{sign} {one.name}: it {what} without {', '.join(names)}")
                click.echo(f"{place}: change its role, or invite it again: {account.invitation}")
    if not account.servers:
        click.echo(f"– Invite it to your server: {account.invitation}")
        if sys.stdout.isatty():
            _show_code(account.invitation)
    return account


def _show_code(address: str) -> None:
    """Draw the QR code of an address, if the extra `local` is installed."""
    with suppress(ModuleNotFoundError):
        import segno

        segno.make(address, error="l").terminal(compact=True)


# The model: chosen, and asked one short question.


async def _tried_model(
    provider: str | None, model: str | None, base_url: str | None, questions: _Questions
) -> LiveModel:
    from oshaberi.bot.config.going_live import LiveModel
    from oshaberi.providers.model_addresses import whole_address
    from oshaberi.providers.presets import PRESETS
    from oshaberi.providers.registry import unknown

    chosen = provider or questions.text("Provider of the model", DEFAULT_PROVIDER)
    preset = PRESETS.get(chosen) if chosen in _providers() else None
    if preset is None:
        raise ConfigError(unknown("--provider", chosen, _providers()))
    if base_url is None and preset.needs_base_url:
        base_url = questions.text("Address of its server", None, "--base-url")
    address = whole_address(chosen, base_url) if base_url is not None else None
    key = _key(preset, address, questions)
    if model is None:
        await _show_models(preset, address, key)
        model = questions.text("Model", None, "--model")
    found = LiveModel(chosen, model, address, key)
    await _try(found)
    return found


def _key(preset: Preset, address: str | None, questions: _Questions) -> str | None:
    variable = preset.key_name_at(address)
    if variable is None:
        is_silent = preset.is_local or not questions.asks
        return None if is_silent else questions.secret("Key (empty: none)", "") or None
    return os.environ.get(variable, "").strip() or questions.secret(
        f"Key for {preset.title}", variable
    )


async def _show_models(preset: Preset, address: str | None, key: str | None) -> None:
    from oshaberi.providers.model_listing import can_list, list_models

    place, family = address or preset.base_url, preset.family_at(address)
    if place is None or not can_list(family):
        return
    names = (await list_models(family, place, key)).names
    if names:
        more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
        click.echo(f"  There are {', '.join(names[:MOST_LISTED])}{more}")


async def _try(model: LiveModel) -> None:
    from oshaberi.providers.first_words import NoAnswerError, first_words
    from oshaberi.providers.registry import connect
    from oshaberi.terminal_output import harmless

    click.echo(f"  Asking {model.model} to say hello …")
    adapter = await asyncio.to_thread(
        connect, model.provider, model.model, api_key=model.key, base_url=model.base_url
    )
    try:
        answer = await first_words(adapter)
    except NoAnswerError as error:
        raise ConfigError(f"{model.provider} {model.model}: {error}") from None
    finally:
        await adapter.aclose()
    said = f": “{answer.text}”" if answer.text else ", it is still thinking"
    click.echo(harmless(f"✓ it answers after {answer.after_s:.1f} s{said}"))
