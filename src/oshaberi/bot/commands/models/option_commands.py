"""`/model option` and `/model fallback`: the options and order of the chain's models."""

from __future__ import annotations

from dataclasses import replace

from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import Choices, answer, choices, number_in
from oshaberi.bot.commands.command_context import (
    Chosen,
    CommandRefusedError,
    CommandUser,
    Interaction,
    PlaceOption,
    Where,
    asker_of,
    context_in,
    context_of,
    in_place,
    typed_place,
    visible_channel,
)
from oshaberi.bot.commands.models.model_commands import (
    DESCRIBED,
    SHOWN_IN,
    add_choosing_command,
    check_payer,
    checked_model,
    fallback,
    format_option,
    inherited_chain,
    list_chain,
    model,
    name_of,
    own_chain,
    store_chain,
)
from oshaberi.errors import Sentence
from oshaberi.languages import translatable, translated
from oshaberi.providers.model_options import OPTIONS, parsed_option
from oshaberi.providers.presets import check_search
from oshaberi.providers.registry import unknown

# `/model option`: sets the options of one model of the chain.


VALUE_LIMIT = 2000


async def set_option(
    context: BotContext,
    asker: CommandUser,
    option: str,
    value: str | None,
    number: int,
    where: Where = None,
) -> str:
    """Set an option of a model of this place, by the model's number.

    If `value` is None, the option is removed.
    """
    asker.must_manage()
    name = option.strip().lower()
    if name not in OPTIONS:
        raise CommandRefusedError(unknown(Sentence("option"), option.strip(), OPTIONS))
    chain = list(await own_chain(context, asker, where))
    if not 1 <= number <= len(chain):
        raise CommandRefusedError(
            translated(
                "There is no such model; `/model show` has their numbers, `/model set` chooses one."
            )
        )
    changed = chain[number - 1]
    params = {key: one for key, one in changed.params.items() if key != name}
    if value is not None:
        params[name] = parsed_option(name, value)
        if name == "search" and params[name]:
            check_search(changed.provider, changed.base_url)
    chain[number - 1] = replace(changed, params=params)
    await store_chain(context, asker, chain, where)
    if value is None:
        return translated(
            "`{option}` of **{model}** is as usual again.", option=name, model=name_of(changed)
        )
    return translated(
        "`{option}` of **{model}** is now {value}.",
        option=name,
        model=name_of(changed),
        value=format_option(params[name]),
    )


def option_choices(typed: str) -> Choices:
    shown = ((f"{name}: {translated(one.what)}"[:100], name) for name, one in OPTIONS.items())
    return choices(typed, shown)


@model.command(name="option", description="Set a model's options: window, thinking, price, …")
@app_commands.describe(
    option="What to set",
    value="Leave it out to remove the option",
    number="The model's number in `/model show`",
    place="Only in this channel, thread or category",
)
@app_commands.rename(place="in")
async def option_(
    interaction: Interaction,
    option: Chosen,
    value: app_commands.Range[str, 1, VALUE_LIMIT] | None = None,
    number: app_commands.Range[int, 1, 10] = 1,
    place: PlaceOption | None = None,
) -> None:
    context, asker, where = context_in(interaction, place)
    await answer(interaction, set_option(context, asker, option, value, number, where))


@option_.autocomplete("option")
async def _options(_interaction: Interaction, typed: str) -> Choices:
    return option_choices(typed)


# `/model fallback`: the models that are tried when the first one fails.


MOST_MODELS = 10


async def add_fallback(
    context: BotContext,
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
                "Set the first model{where} before its fallbacks: `/model set`.",
                where=in_place(where),
            )
        )
    if len(chain) >= MOST_MODELS:
        raise CommandRefusedError(
            translated(
                "At most {most_models} models; remove one: `/model fallback remove`.",
                most_models=MOST_MODELS,
            )
        )
    added = await checked_model(context, asker, provider, model, base_url)
    await check_payer(context, added)
    await store_chain(context, asker, (*chain, added), where)
    return translated(
        "If the others fail, **{model}** answers{where}.",
        model=name_of(added),
        where=in_place(where),
    )


async def remove_fallback(
    context: BotContext, asker: CommandUser, number: int, where: Where = None
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
        "**{model}** is no longer a fallback{where}.",
        model=name_of(chain[number]),
        where=in_place(where),
    )


async def list_fallbacks(context: BotContext, asker: CommandUser, where: Where = None) -> str:
    chain, place_id = await inherited_chain(context, asker, where or asker.path)
    if not chain[1:]:
        return translated("There are no fallbacks. Add one with `/model fallback add`.")
    return list_chain(chain[1:], asker.is_owner, place_id is not None)


async def fallback_choices(
    context: BotContext, asker: CommandUser, typed: str, where: Where = None
) -> Choices:
    if not asker.may_manage:
        return []
    fallbacks = enumerate((await own_chain(context, asker, where))[1:], 1)
    return choices(typed, ((f"{n}. {name_of(model)}", str(n)) for n, model in fallbacks))


add_choosing_command(
    fallback, "add", translatable("Add a model that is tried when the others fail"), add_fallback
)


@fallback.command(description="Remove a fallback")
@app_commands.rename(place="in")
@app_commands.describe(fallback="Its number in the list", place=DESCRIBED["place"])
async def remove(
    interaction: Interaction, fallback: Chosen, place: PlaceOption | None = None
) -> None:
    context, asker, where = context_in(interaction, place)
    await answer(interaction, remove_fallback(context, asker, number_in(fallback), where))


@fallback.command(name="list", description="List the fallbacks, in order")
@app_commands.rename(place="in")
@app_commands.describe(place=SHOWN_IN)
async def list_(interaction: Interaction, place: PlaceOption | None = None) -> None:
    context, asker, where = context_in(interaction, place)
    await answer(interaction, list_fallbacks(context, asker, where))


@remove.autocomplete("fallback")
async def _fallbacks(interaction: Interaction, typed: str) -> Choices:
    where = typed_place(interaction)
    if where is not None and visible_channel(interaction, where.channel_id) is None:
        return []
    return await fallback_choices(context_of(interaction), asker_of(interaction), typed, where)
