"""`/model`: shows and changes the chain of models of a server or of one channel."""

from __future__ import annotations

import json
from collections.abc import Sequence

from discord import app_commands

from oshaberi.bot.commands.command_answers import Choices, answer, choices, number_in, plain
from oshaberi.bot.commands.command_context import (
    MANAGER,
    CommandContext,
    CommandRefusedError,
    CommandUser,
    Interaction,
    PlaceOption,
    Where,
    asked_in,
    asker_of,
    context_of,
    seen_channel,
    typed_place,
)
from oshaberi.conversation.channel_path import ChannelPath
from oshaberi.discord_io.discord_embeds import shortened
from oshaberi.languages import translatable, translated
from oshaberi.providers.adapter_registry import families, unknown
from oshaberi.providers.model_options import OPTIONS
from oshaberi.providers.provider_presets import PRESETS
from oshaberi.storage.stored_records import ModelRecord
from oshaberi.turns.generation.local_models import LOCAL_MODEL, may_ask_model
from oshaberi.turns.generation.model_chain import (
    WHOLE_SERVER,
    ModelCandidate,
    is_same_model,
    key_needed,
)

Chain = tuple[ModelRecord, ...]
MOST_MODELS = 10
MODEL_LIMIT = 200
OPTION_SHOWN = 60
NOT_HERE = frozenset({"replay"})
"""Reads files of the machine it runs on."""


def provider_names() -> list[str]:
    """Return presets and plugged-in families, without the test provider."""
    plugged = set(families()) - {preset.family for preset in PRESETS.values()}
    return sorted((set(PRESETS) | plugged) - NOT_HERE)


def checked_provider(name: str) -> str:
    known = provider_names()
    if name.strip().lower() not in known:
        raise CommandRefusedError(unknown("provider", name.strip(), known))
    return name.strip().lower()


async def own_chain(context: CommandContext, asker: CommandUser, where: Where = None) -> Chain:
    """Return the models set in one place only: for the server, a channel, or the user in DMs."""
    channel_id = WHOLE_SERVER if where is None else where.channel_id
    return await context.db.models.chain(asker.server_id, asker.person.id, channel_id)


async def chain_of(context: CommandContext, asker: CommandUser, where: Where = None) -> Chain:
    """Return the models that are tried in a channel, in order; in the asker's own without one."""
    return (await _inherited_chain(context, asker, where or asker.path))[0]


async def _inherited_chain(
    context: CommandContext, asker: CommandUser, path: ChannelPath
) -> tuple[Chain, int | None]:
    """Return the chain with the id of the place that has it; None: whoever runs the bot."""
    chains = await context.db.models.chains(asker.server_id, asker.person.id)
    for place_id in (*path.ids, WHOLE_SERVER):
        if place_id in chains:
            return chains[place_id], place_id
    return tuple(link.model for link in context.services.models), None


async def show_models(context: CommandContext, asker: CommandUser, where: Where = None) -> str:
    chain, place_id = await _inherited_chain(context, asker, where or asker.path)
    if not chain:
        return translated(
            "No model is set. Give a key with `/model key add`, then choose one: `/model set`."
        )
    own = place_id is not None
    listed = _listed(chain, asker.is_owner, own)
    return translated(
        "{asker}, tried in this order:\n{listed}",
        asker=_origin_of_chain(asker, place_id),
        listed=listed,
    )


def _origin_of_chain(asker: CommandUser, place_id: int | None) -> str:
    if place_id is None:
        return translated("Set by whoever runs the bot")
    if place_id != WHOLE_SERVER:
        return translated("Set for <#{place_id}>", place_id=place_id)
    return (
        translated("Set for this server")
        if asker.server_id
        else translated("Set for your direct messages")
    )


async def set_model(
    context: CommandContext,
    asker: CommandUser,
    provider: str,
    model: str,
    base_url: str | None,
    where: Where = None,
) -> str:
    """Set the first model of the chain. Its fallbacks stay."""
    asker.must_manage()
    first = await _record(context, asker, provider, model, base_url)
    await _check_payer(context, first)
    rest = (await own_chain(context, asker, where))[1:]
    await store_chain(context, asker, (first, *rest), where)
    return translated(
        "Answers{where} now come from **{first}**.", where=_in(where), first=name_of(first)
    )


async def reset_models(context: CommandContext, asker: CommandUser, where: Where = None) -> str:
    asker.must_manage()
    await store_chain(context, asker, (), where)
    return await show_models(context, asker, where)


async def add_fallback(
    context: CommandContext,
    asker: CommandUser,
    provider: str,
    model: str,
    base_url: str | None,
    where: Where = None,
) -> str:
    asker.must_manage()
    chain = await own_chain(context, asker, where)
    if not chain:
        raise CommandRefusedError(
            translated(
                "Set the first model{where} before its fallbacks: `/model set`.", where=_in(where)
            )
        )
    if len(chain) >= MOST_MODELS:
        raise CommandRefusedError(
            translated(
                "At most {most_models} models; remove one: `/model fallback remove`.",
                most_models=MOST_MODELS,
            )
        )
    added = await _record(context, asker, provider, model, base_url)
    await _check_payer(context, added)
    await store_chain(context, asker, (*chain, added), where)
    return translated(
        "If the others fail, **{added}** answers{where}.", added=name_of(added), where=_in(where)
    )


async def remove_fallback(
    context: CommandContext, asker: CommandUser, number: int, where: Where = None
) -> str:
    """Remove a fallback by its number in the list, from 1."""
    asker.must_manage()
    chain = await own_chain(context, asker, where)
    if not 1 <= number < len(chain):
        raise CommandRefusedError(
            translated("There is no such fallback; `/model fallback list` shows their numbers.")
        )
    await store_chain(context, asker, (*chain[:number], *chain[number + 1 :]), where)
    return translated(
        "**{chain}** is no longer a fallback{where}.",
        chain=name_of(chain[number]),
        where=_in(where),
    )


async def list_fallbacks(context: CommandContext, asker: CommandUser, where: Where = None) -> str:
    chain, place_id = await _inherited_chain(context, asker, where or asker.path)
    if not chain[1:]:
        return translated("There are no fallbacks. Add one with `/model fallback add`.")
    return _listed(chain[1:], asker.is_owner, place_id is not None)


async def fallback_choices(
    context: CommandContext, asker: CommandUser, typed: str, where: Where = None
) -> Choices:
    if not asker.may_manage:
        return []
    fallbacks = enumerate((await own_chain(context, asker, where))[1:], 1)
    return choices(typed, ((f"{n}. {name_of(model)}", str(n)) for n, model in fallbacks))


def provider_choices(typed: str) -> Choices:
    titles = {name: PRESETS[name].title if name in PRESETS else name for name in provider_names()}
    return choices(typed, ((title, name) for name, title in titles.items()))


async def _record(
    context: CommandContext, asker: CommandUser, provider: str, model: str, base_url: str | None
) -> ModelRecord:
    name = model.strip()
    if not name or len(name) > MODEL_LIMIT or not name.isprintable():
        raise CommandRefusedError(translated("Give the model's name as its provider writes it."))
    if base_url is not None:
        _check_address(asker, base_url.strip())
        base_url = base_url.strip()
    record = ModelRecord(
        asker.server_id,
        checked_provider(provider),
        name,
        base_url,
        user_id=0 if asker.server_id else asker.person.id,
    )
    if not await may_ask_model(context.services, record):
        raise CommandRefusedError(translated(LOCAL_MODEL))
    return record


def _check_address(asker: CommandUser, url: str) -> None:
    """Refuse users other than the owner: keys would be sent to that address."""
    if not asker.is_owner:
        raise CommandRefusedError(
            translated("Only the bot's owner can choose another address: keys would be sent there.")
        )
    if not url.startswith(("http://", "https://")) or any(sign.isspace() for sign in url):
        raise CommandRefusedError(translated("The address must begin with https:// or http://."))


async def store_chain(
    context: CommandContext, asker: CommandUser, chain: Sequence[ModelRecord], where: Where = None
) -> None:
    channel_id = WHOLE_SERVER if where is None else where.channel_id
    await context.db.models.set_chain(asker.server_id, chain, asker.person.id, channel_id)


def _in(where: Where) -> str:
    return "" if where is None else translated(" in <#{channel_id}>", channel_id=where.channel_id)


async def _check_payer(context: CommandContext, model: ModelRecord) -> None:
    """Refuse a model without a key. The operator's keys are only for the operator's models."""
    links = context.services.models
    if not ModelCandidate(model).lacks_key or any(is_same_model(model, link) for link in links):
        return
    if not await context.db.keys.of(model.server_id, model.provider, model.user_id):
        raise CommandRefusedError(plain(key_needed(model, links)))


def name_of(model: ModelRecord) -> str:
    return plain(f"{model.provider}/{model.model}")


def _listed(chain: Sequence[ModelRecord], for_owner: bool, is_own: bool) -> str:
    """List the chain. Only the owner sees base URLs and prices, which may be private."""
    lines = []
    for number, model in enumerate(chain, 1):
        where = (
            translated(" at <{base_url}>", base_url=model.base_url)
            if model.base_url and for_owner
            else ""
        )
        options = _told_options(model) if for_owner or is_own else ""
        lines.append(f"{number}. {name_of(model)}{where}{options}")
    return "\n".join(lines)


def _told_options(model: ModelRecord) -> str:
    """List our own options of a model. Other parameters may be private to the operator."""
    told = (f"{name} {told_option(model.params[name])}" for name in OPTIONS if name in model.params)
    listed = ", ".join(told)
    return f" ({listed})" if listed else ""


def told_option(value: object) -> str:
    return plain(shortened(value if isinstance(value, str) else json.dumps(value), OPTION_SHOWN))


model = app_commands.Group(
    name="model", description="Which models answer here", default_permissions=MANAGER
)
fallback = app_commands.Group(
    name="fallback", description="What is tried when a model fails", parent=model
)
_DESCRIBED = {
    "provider": translatable("Who runs the model"),
    "name": translatable("The model, as its provider calls it"),
    "base_url": translatable("Another server of the same kind (only the bot's owner)"),
    "place": translatable("Only in this channel, thread or category"),
}
_SHOWN_IN = translatable("In this channel, thread or category; where you are if left out")


@model.command(description="List the models that answer here, in order")
@app_commands.rename(place="in")
@app_commands.describe(place=_SHOWN_IN)
async def show(interaction: Interaction, place: PlaceOption | None = None) -> None:
    context, asker, where = asked_in(interaction, place)
    await answer(interaction, show_models(context, asker, where))


@model.command(name="set", description="Choose the model that answers, here or in one channel")
@app_commands.rename(name="model", place="in")
@app_commands.describe(**_DESCRIBED)
async def set_(
    interaction: Interaction,
    provider: str,
    name: str,
    base_url: str | None = None,
    place: PlaceOption | None = None,
) -> None:
    context, asker, where = asked_in(interaction, place)
    await answer(interaction, set_model(context, asker, provider, name, base_url, where))


@model.command(description="Remove the models set here, and use those that are inherited")
@app_commands.rename(place="in")
@app_commands.describe(place=_DESCRIBED["place"])
async def reset(interaction: Interaction, place: PlaceOption | None = None) -> None:
    context, asker, where = asked_in(interaction, place)
    await answer(interaction, reset_models(context, asker, where))


@fallback.command(description="Add a model that is tried when the others fail")
@app_commands.rename(name="model", place="in")
@app_commands.describe(**_DESCRIBED)
async def add(
    interaction: Interaction,
    provider: str,
    name: str,
    base_url: str | None = None,
    place: PlaceOption | None = None,
) -> None:
    context, asker, where = asked_in(interaction, place)
    await answer(interaction, add_fallback(context, asker, provider, name, base_url, where))


@fallback.command(description="Remove a fallback")
@app_commands.rename(place="in")
@app_commands.describe(fallback="Its number in the list", place=_DESCRIBED["place"])
async def remove(interaction: Interaction, fallback: str, place: PlaceOption | None = None) -> None:
    context, asker, where = asked_in(interaction, place)
    await answer(interaction, remove_fallback(context, asker, number_in(fallback), where))


@fallback.command(name="list", description="List the fallbacks, in order")
@app_commands.rename(place="in")
@app_commands.describe(place=_SHOWN_IN)
async def list_(interaction: Interaction, place: PlaceOption | None = None) -> None:
    context, asker, where = asked_in(interaction, place)
    await answer(interaction, list_fallbacks(context, asker, where))


@set_.autocomplete("provider")
@add.autocomplete("provider")
async def _providers(_interaction: Interaction, typed: str) -> Choices:
    return provider_choices(typed)


@remove.autocomplete("fallback")
async def _fallbacks(interaction: Interaction, typed: str) -> Choices:
    where = typed_place(interaction)
    if where is not None and seen_channel(interaction, where.channel_id) is None:
        return []
    return await fallback_choices(context_of(interaction), asker_of(interaction), typed, where)
