"""`oshaberi models`: lists the models of an endpoint, one name per line."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oshaberi.cli.options import config_option, settings_of, whisper
from oshaberi.errors import ConfigError
from oshaberi.terminal_output import counted

if TYPE_CHECKING:
    from oshaberi.providers.model_listing import OfferedModels


@dataclass(frozen=True, slots=True)
class ModelAddress:
    """Which endpoint to ask, and with which key."""

    provider: str
    base_url: str
    family: str
    key: str | None = field(default=None, repr=False)


@click.command(short_help="List the models that an endpoint offers.")
@click.option(
    "--provider", metavar="NAME", help="A preset, such as openai, anthropic, google or ollama."
)
@click.option("--base-url", metavar="URL", help="Another server of the same family.")
@click.option("--key-env", metavar="NAME", help="The variable that holds the API key.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per endpoint.")
@config_option
def command(
    provider: str | None,
    base_url: str | None,
    key_env: str | None,
    as_json: bool,
    config_file: Path | None,
) -> None:
    """List the models of a provider, or of every endpoint in the settings.

    The key comes from the provider's usual variable; with --base-url only from --key-env.

    \b
    Examples:
      oshaberi models --provider ollama
      oshaberi models --provider openai --base-url http://127.0.0.1:9000/v1
      oshaberi models --json
    """
    if provider is None and (base_url or key_env):
        raise click.UsageError("--base-url and --key-env need a --provider")
    if provider is None:
        addresses = _of_settings(config_file)
    else:
        address = _address(provider, base_url, None)
        addresses = [replace(address, key=_key(provider, base_url, key_env))]
    _show(addresses, as_json)


def _of_settings(config_file: Path | None) -> list[ModelAddress]:
    entries = settings_of(config_file).models
    if not entries:
        raise ConfigError("no model is in the settings; try: oshaberi models --provider ollama")
    places: dict[tuple[str, str | None], list[str]] = {}
    for entry in entries:
        # Entries of one endpoint may each have a key of their own, or none.
        places.setdefault((entry.provider, entry.base_url), []).extend(entry.keys(os.environ))
    return [_address(*place, next(iter(keys), None)) for place, keys in places.items()]


def _address(provider: str, base_url: str | None, key: str | None) -> ModelAddress:
    from oshaberi.providers.model_listing import can_list
    from oshaberi.providers.presets import PRESETS
    from oshaberi.providers.registry import unknown

    preset = PRESETS.get(provider)
    if preset is None:
        raise ConfigError(unknown("provider", provider, PRESETS))
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise ConfigError(f"{provider}: base URL {base_url!r} does not begin with http:// or https")
    if preset.needs_base_url and base_url is None:
        raise ConfigError(f"{provider}: needs a base_url")
    url = base_url or preset.base_url
    if url is None or not can_list(preset.family):
        raise ConfigError(f"{provider}: its API does not list its models")
    return ModelAddress(provider, url, preset.family, key)


def _key(provider: str, base_url: str | None, key_env: str | None) -> str | None:
    from oshaberi.providers.presets import PRESETS

    preset = PRESETS.get(provider)
    name = key_env or (preset.key_name_at(base_url) if preset else None)
    key = os.environ.get(name, "").strip() if name else ""
    if name and not key:
        raise ConfigError(f"{provider}: no API key; set the environment variable {name}")
    return key or None


def _show(addresses: Sequence[ModelAddress], as_json: bool) -> None:
    failures = []
    for address in addresses:
        offered = asyncio.run(_list_models(address))
        if offered.status != 200:
            failures.append(_failure(address, offered))
        elif as_json:
            click.echo(json.dumps(_record(address, offered), ensure_ascii=False))
        else:
            whisper(
                f"{address.provider} at {_format(address)}: {counted(len(offered.names), 'model')}"
            )
            for name in offered.names:
                click.echo(name)
    if failures:
        raise click.ClickException("; ".join(failures))


async def _list_models(address: ModelAddress) -> OfferedModels:
    try:
        from oshaberi.providers.model_listing import list_models

        return await list_models(address.family, address.base_url, address.key)
    except ModuleNotFoundError as missing:
        from oshaberi.providers.presets import PRESETS

        extra = PRESETS[address.provider].extra
        install = f'pip install "oshaberi[{extra}]"'
        raise ConfigError(f"the {missing.name} package is not installed: {install}") from None


def _record(address: ModelAddress, offered: OfferedModels) -> dict[str, object]:
    return {
        "provider": address.provider,
        "base_url": _format(address),
        "models": list(offered.names),
        "is_whole": offered.is_whole,
    }


def _failure(address: ModelAddress, offered: OfferedModels) -> str:
    where = f"{address.provider} at {_format(address)}"
    if offered.status == 0:
        return f"{where} was not reached ({offered.reason})"
    if offered.refuses_key:
        return f"{where} refuses the key" if address.key else f"{where} wants a key"
    return f"{where} does not list its models ({offered.reason})"


def _format(address: ModelAddress) -> str:
    from oshaberi.providers.wire.errors import shown_address

    return shown_address(address.base_url)
