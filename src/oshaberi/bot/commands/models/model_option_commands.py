"""`/model option`: sets the options of one model of the chain."""

from __future__ import annotations

from dataclasses import replace

from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.command_answers import Choices, answer, choices
from oshaberi.bot.commands.command_context import (
    Chosen,
    CommandRefusedError,
    CommandUser,
    Interaction,
    PlaceOption,
    Where,
    asked_in,
)
from oshaberi.bot.commands.models.model_commands import model
from oshaberi.bot.commands.models.stored_chains import name_of, own_chain, store_chain, told_option
from oshaberi.errors import Sentence
from oshaberi.languages import translated
from oshaberi.providers.adapter_registry import unknown
from oshaberi.providers.model_options import OPTIONS, parsed_option

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
        value=told_option(params[name]),
    )


def option_choices(typed: str) -> Choices:
    shown = ((f"{name}: {translated(one.what)}"[:100], name) for name, one in OPTIONS.items())
    return choices(typed, shown)


@model.command(name="option", description="Set how a model is asked: window, thinking, price, …")
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
    context, asker, where = asked_in(interaction, place)
    await answer(interaction, set_option(context, asker, option, value, number, where))


@option_.autocomplete("option")
async def _options(_interaction: Interaction, typed: str) -> Choices:
    return option_choices(typed)
