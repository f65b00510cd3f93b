"""`/model`: shows, sets and resets the models of a server or of one channel."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import Choices, answer, choices, plain
from oshaberi.bot.commands.command_context import (
    MANAGER,
    Address,
    Chosen,
    CommandRefusedError,
    CommandUser,
    Interaction,
    PlaceOption,
    Where,
    asker_of,
    check_places,
    context_in,
    context_of,
    in_place,
)
from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.storage.records import ModelRecord
from oshaberi.bot.turns.services.model_access import (
    FROM_FILES,
    WHOLE_SERVER,
    ModelCandidate,
    is_of_cloud,
    is_same_model,
    key_needed,
    not_allowed,
    place_of_model,
)
from oshaberi.discord_io.requests.parameters import shortened
from oshaberi.errors import ConfigError, Sentence
from oshaberi.languages import said, translatable, translated
from oshaberi.providers.model_addresses import whole_address
from oshaberi.providers.model_options import OPTIONS
from oshaberi.providers.presets import PRESETS
from oshaberi.providers.registry import families, unknown

# What users type is checked: the provider, the model, its address, its key.


MODEL_LIMIT = 200


def provider_names() -> list[str]:
    """Return presets and plugged-in families, without the test provider."""
    plugged = set(families()) - {preset.family for preset in PRESETS.values()}
    return sorted((set(PRESETS) | plugged) - FROM_FILES)


def checked_provider(name: str) -> str:
    known = provider_names()
    if name.strip().lower() not in known:
        raise CommandRefusedError(unknown(Sentence("provider"), name.strip(), known))
    return name.strip().lower()


def provider_choices(typed: str, names: Iterable[str] | None = None) -> Choices:
    offered = provider_names() if names is None else names
    titles = {name: PRESETS[name].title if name in PRESETS else name for name in offered}
    return choices(typed, ((title, name) for name, title in titles.items()))


def allowed_providers(context: BotContext, asker: CommandUser) -> list[str]:
    """Return the providers whose models `checked_model` would not refuse to this user."""
    operator = context.services.models.operator
    listed = {link.model.provider for link in operator.models}

    def is_allowed(name: str) -> bool:
        preset = PRESETS.get(name)
        if preset is not None and preset.needs_base_url and not asker.is_owner:
            return False
        if is_of_cloud(name):
            return name in listed
        is_local = preset is None or preset.is_local
        return not is_local or operator.allow_local_models or asker.is_owner or name in listed

    return [name for name in provider_names() if is_allowed(name)]


async def checked_model(
    context: BotContext, asker: CommandUser, provider: str, model: str, base_url: str | None
) -> ModelRecord:
    name = model.strip()
    if not name or len(name) > MODEL_LIMIT or not name.isprintable():
        raise CommandRefusedError(translated("Give the model's name as its provider writes it."))
    provider = checked_provider(provider)
    record = ModelRecord(
        asker.server_id,
        provider,
        name,
        None if base_url is None else _checked_address(asker, provider, base_url),
        user_id=0 if asker.server_id else asker.person.id,
    )
    if not await context.services.models.may_ask(record):
        raise CommandRefusedError(not_allowed(provider))
    return record


def _checked_address(asker: CommandUser, provider: str, typed: str) -> str:
    """Return the whole address. Only the bot's owner may give one: keys would be sent there."""
    if not asker.is_owner:
        raise CommandRefusedError(
            translated("Only the bot's owner can choose another address: keys would be sent there.")
        )
    try:
        return whole_address(provider, typed)
    except ConfigError as error:
        raise CommandRefusedError(plain(said(error.args[0]))) from None


async def check_payer(context: BotContext, model: ModelRecord) -> None:
    """Refuse a model without a key. The operator's keys are for the operator's models only."""
    links = context.services.models.operator.models
    if not ModelCandidate(model).lacks_key or any(is_same_model(model, link) for link in links):
        return
    if not await context.db.keys.of(model.server_id, model.provider, model.user_id):
        raise CommandRefusedError(plain(said(key_needed(model, links))))


# The model chain of a server or channel is read, stored and described.


Chain = tuple[ModelRecord, ...]
OPTION_SHOWN = 60


async def own_chain(context: BotContext, asker: CommandUser, where: Where = None) -> Chain:
    """Return the models set in exactly one place: the server, a channel, or the user's DMs."""
    channel_id = WHOLE_SERVER if where is None else where.channel_id
    return await context.db.models.chain(asker.server_id, asker.person.id, channel_id)


async def chain_of(context: BotContext, asker: CommandUser, where: Where = None) -> Chain:
    """Return the models to try in `where`, in order. None: where the command was used."""
    return (await inherited_chain(context, asker, where or asker.path))[0]


async def inherited_chain(
    context: BotContext, asker: CommandUser, path: ChannelPath
) -> tuple[Chain, int | None]:
    """Return the chain and the id of the place that has it; None if it is the operator's."""
    chains = await context.db.models.chains(asker.server_id, asker.person.id)
    for place_id in (*path.ids, WHOLE_SERVER):
        if place_id in chains:
            return chains[place_id], place_id
    return tuple(link.model for link in context.services.models.operator.models), None


async def store_chain(
    context: BotContext, asker: CommandUser, chain: Sequence[ModelRecord], where: Where = None
) -> None:
    channel_id = WHOLE_SERVER if where is None else where.channel_id
    if chain:
        check_places(await context.db.models.chains(asker.server_id, asker.person.id), where)
    await context.db.models.set_chain(asker.server_id, chain, asker.person.id, channel_id)


def origin_of_chain(asker: CommandUser, place_id: int | None) -> str:
    if place_id is None:
        return translated("Set by whoever runs the bot")
    if place_id != WHOLE_SERVER:
        return translated("Set for <#{place_id}>", place_id=place_id)
    return (
        translated("Set for this server")
        if asker.server_id
        else translated("Set for your direct messages")
    )


def name_of(model: ModelRecord) -> str:
    return plain(f"{model.provider}/{model.model}")


def list_chain(chain: Sequence[ModelRecord], for_owner: bool, is_own: bool) -> str:
    """List the chain. Only the bot's owner sees base URLs and prices, which may be private."""
    lines = []
    for number, model in enumerate(chain, 1):
        where = (
            translated(" at <{base_url}>", base_url=model.base_url)
            if model.base_url and for_owner
            else ""
        )
        options = _list_options(model) if for_owner or is_own else ""
        lines.append(f"{number}. {name_of(model)}{where}{options}")
    return "\n".join(lines)


def _list_options(model: ModelRecord) -> str:
    """List the model's options that Oshaberi defines. Others may be private to the operator."""
    options = (
        f"{name} {format_option(model.params[name])}" for name in OPTIONS if name in model.params
    )
    listed = ", ".join(options)
    return f" ({listed})" if listed else ""


def format_option(value: object) -> str:
    return plain(shortened(value if isinstance(value, str) else json.dumps(value), OPTION_SHOWN))


# The commands.


ChooseModel = Callable[
    [BotContext, CommandUser, str, str, str | None, Where], Coroutine[Any, Any, str]
]
"""Takes provider, model, base URL and place; returns the text of the answer."""


async def show_models(context: BotContext, asker: CommandUser, where: Where = None) -> str:
    chain, place_id = await inherited_chain(context, asker, where or asker.path)
    if not chain:
        return translated(
            "No model is set. Give a key with `/model key add`, then choose one: `/model set`."
        )
    own = place_id is not None
    listed = list_chain(chain, asker.is_owner, own)
    return translated(
        "{origin}, tried in this order:\n{listed}",
        origin=origin_of_chain(asker, place_id),
        listed=listed,
    )


async def set_model(
    context: BotContext,
    asker: CommandUser,
    provider: str,
    model: str,
    base_url: str | None,
    where: Where = None,
) -> str:
    """Set the first model of the chain. The fallbacks stay."""
    asker.must_manage()
    first = await checked_model(context, asker, provider, model, base_url)
    await check_payer(context, first)
    rest = (await own_chain(context, asker, where))[1:]
    await store_chain(context, asker, (first, *rest), where)
    told = translated(
        "Answers{where} now come from **{model}**.", where=in_place(where), model=name_of(first)
    )
    return f"{told}{_completed_address(first, base_url)}"


def _completed_address(model: ModelRecord, typed: str | None) -> str:
    """Return a sentence that says what was added to an address, if something was."""
    if model.base_url is None or typed is None or model.base_url == typed.strip():
        return ""
    return " " + translated("Its address is <{base_url}>.", base_url=model.base_url)


async def reset_models(context: BotContext, asker: CommandUser, where: Where = None) -> str:
    asker.must_manage()
    await store_chain(context, asker, (), where)
    return await show_models(context, asker, where)


async def relearn_models(context: BotContext, asker: CommandUser, where: Where = None) -> str:
    """Forget what the models of a place refused, in all processes.

    The next request sends everything again.
    """
    asker.must_manage()
    learned = context.services.models.adapters.learned
    chain = await chain_of(context, asker, where)
    forgotten = [name_of(model) for model in chain if learned.forget(place_of_model(model))]
    for model in chain:
        await context.db.models.tell_forgotten(json.dumps(place_of_model(model)))
    if not forgotten:
        return translated("Nothing was learned about the models that answer here.")
    return translated(
        "I have forgotten what {models} refused. The next request sends everything again.",
        models=", ".join(forgotten),
    )


model = app_commands.Group(
    name="model", description="Which models answer here", default_permissions=MANAGER
)
fallback = app_commands.Group(
    name="fallback", description="What is tried when a model fails", parent=model
)
DESCRIBED = {
    "provider": translatable("Who runs the model"),
    "model_name": translatable("The model, as its provider calls it"),
    "base_url": translatable("Another server of the same kind (only the bot's owner)"),
    "place": translatable("Only in this channel, thread or category"),
}
SHOWN_IN = translatable("In this channel, thread or category; where you are if left out")


@model.command(description="List the models that answer here, in order")
@app_commands.rename(place="in")
@app_commands.describe(place=SHOWN_IN)
async def show(interaction: Interaction, place: PlaceOption | None = None) -> None:
    context, asker, where = context_in(interaction, place)
    await answer(interaction, show_models(context, asker, where))


def add_choosing_command(
    group: app_commands.Group, name: str, description: str, choose: ChooseModel
) -> None:
    """Add a command whose options name a model and the place where it answers."""

    @group.command(name=name, description=description)
    @app_commands.rename(model_name="model", place="in")
    @app_commands.describe(**DESCRIBED)
    @app_commands.autocomplete(provider=_providers)
    async def command(
        interaction: Interaction,
        provider: Chosen,
        model_name: app_commands.Range[str, 1, MODEL_LIMIT],
        base_url: Address | None = None,
        place: PlaceOption | None = None,
    ) -> None:
        context, asker, where = context_in(interaction, place)
        await answer(interaction, choose(context, asker, provider, model_name, base_url, where))


async def _providers(interaction: Interaction, typed: str) -> Choices:
    names = allowed_providers(context_of(interaction), asker_of(interaction))
    return provider_choices(typed, names)


add_choosing_command(
    model, "set", translatable("Choose the model that answers, here or in one channel"), set_model
)


@model.command(description="Remove the models set here, and use those that are inherited")
@app_commands.rename(place="in")
@app_commands.describe(place=DESCRIBED["place"])
async def reset(interaction: Interaction, place: PlaceOption | None = None) -> None:
    context, asker, where = context_in(interaction, place)
    await answer(interaction, reset_models(context, asker, where))


@model.command(description="Forget what the models refused, and try all of it again")
@app_commands.rename(place="in")
@app_commands.describe(place=SHOWN_IN)
async def relearn(interaction: Interaction, place: PlaceOption | None = None) -> None:
    context, asker, where = context_in(interaction, place)
    await answer(interaction, relearn_models(context, asker, where))
