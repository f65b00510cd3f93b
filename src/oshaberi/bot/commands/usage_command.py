"""`/usage`: the usage and cost of a user or a server, today and recently, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Literal

from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import answer
from oshaberi.bot.commands.command_context import (
    Command,
    CommandRefusedError,
    CommandUser,
    Interaction,
    asker_of,
    context_of,
    turn_channel_of,
)
from oshaberi.bot.storage.records import UsageRecord
from oshaberi.bot.storage.usage import (
    Counted,
    Subject,
    UsageAccount,
    UsageLimit,
    UsageTotals,
    renewal,
    usage_day,
)
from oshaberi.bot.turns.quotas import QuotaPlace, limits_of, quota_place
from oshaberi.languages import translatable, translated, translated_count

LATELY_DAYS = 30
MOST_USERS = 5
MICROS = 1_000_000
Whose = Literal["mine", "server"]
_COUNTED: dict[Counted, str] = {
    "requests": translatable("requests"),
    "tokens": translatable("tokens"),
}
_SUBJECTS: dict[Subject, str] = {
    "user": translatable("of yours"),
    "channel": translatable("of this channel"),
    "server": translatable("of this server"),
}


async def usage_of(context: BotContext, asker: CommandUser, place: QuotaPlace, whose: Whose) -> str:
    if whose == "mine":
        return "\n".join(await _own(context, asker, place))
    if not asker.server_id:
        raise CommandRefusedError(
            translated("There is no server here; leave `whose` out to see your own.")
        )
    if not asker.may_manage:
        raise CommandRefusedError(
            translated("Only members with the permission Manage Server can see the server's.")
        )
    return "\n".join(await _servers(context, asker, place))


async def _own(context: BotContext, asker: CommandUser, place: QuotaPlace) -> list[str]:
    account = UsageAccount("server", place.server_id, "user", place.user_id)
    if place.server_id:
        who = translated("You in this server")
    else:
        who = translated("You in direct messages")
    used = await _usage_lines(context, account, who)
    return [*used, *await _remaining(context, asker, place, ("user", "channel", "server"))]


async def _servers(context: BotContext, asker: CommandUser, place: QuotaPlace) -> list[str]:
    server_id, day = place.server_id, usage_day(context.services.clock())
    account = UsageAccount("server", server_id, "server", server_id)
    paid = UsageAccount("operator", 0, "server", server_id)
    lines = await _usage_lines(context, account, translated("This server"))
    operators = await context.db.usage_counts.of(paid, day, day)
    lines.append(
        translated(
            "Of today's usage, on the keys of whoever runs the bot: {operators}.",
            operators=format_totals(operators),
        )
    )
    largest = await context.db.usage_counts.largest_users(server_id, day, MOST_USERS)
    lines += [translated("Most today:")] if largest else []
    lines += [f"- <@{user}>: {format_totals(totals)}" for user, totals in largest]
    lines += await _verdicts(context, server_id)
    return [*lines, *await _remaining(context, asker, place, ("server",))]


async def _verdicts(context: BotContext, server_id: int) -> list[str]:
    """Say how often people rated an answer, if anybody did (`reaction_actions`)."""
    since = context.services.clock() - timedelta(LATELY_DAYS)
    good, bad = await context.db.reactions.verdicts(server_id, since)
    if not good + bad:
        return []
    return [
        translated(
            "**Rated as good:** {good:,}; **as bad:** {bad:,} (answers, lately).",
            good=good,
            bad=bad,
        )
    ]


async def _usage_lines(context: BotContext, account: UsageAccount, who: str) -> list[str]:
    day, counts = usage_day(context.services.clock()), context.db.usage_counts
    now = await counts.of(account, day, day)
    lately = await counts.of(account, day - timedelta(LATELY_DAYS - 1), day)
    return [
        translated("**{who}, today:** {now}.", who=who, now=format_totals(now)),
        translated(
            "**In the last {lately_days} days:** {lately}.",
            lately_days=LATELY_DAYS,
            lately=format_totals(lately),
        ),
    ]


async def _remaining(
    context: BotContext, asker: CommandUser, place: QuotaPlace, subjects: Sequence[Subject]
) -> list[str]:
    """Describe what is left of the quotas, and until when."""
    services, day = context.services, usage_day(context.services.clock())
    own = (await services.settings(asker.path)).turn
    candidates = await services.models.chain(asker.path, place.user_id)
    operator_pays = any(one.is_operators for one in candidates)
    limits = [
        limit
        for limit in limits_of(services.models.operator.turn, own, place, operator_pays)
        if limit.is_set and limit.account.subject in subjects
    ]
    if not limits:
        return [translated("There is no quota.")]
    lines = [line for limit in limits for line in await _remaining_of(context, limit, day)]
    at = int(renewal(day).timestamp())
    return [
        translated("**Left today:**"),
        *lines,
        translated("It renews <t:{at}:R>, at <t:{at}:t>.", at=at),
    ]


async def _remaining_of(context: BotContext, limit: UsageLimit, day: date) -> list[str]:
    account = limit.account
    used = await context.db.usage_counts.of(account, day, day)
    is_operators = account.budget_owner == "operator"
    whose_keys = translated(", on the keys of whoever runs the bot") if is_operators else ""
    pairs: tuple[tuple[Counted, int, int], ...] = (
        ("requests", limit.requests, used.requests),
        ("tokens", limit.tokens, used.tokens),
    )
    return [
        translated(
            "- {value:,} of {most:,} {counted} {subjects}{whose_keys}",
            value=max(0, most - taken),
            most=most,
            counted=translated(_COUNTED[counted]),
            subjects=translated(_SUBJECTS[account.subject]),
            whose_keys=whose_keys,
        )
        for counted, most, taken in pairs
        if most
    ]


def format_totals(totals: UsageTotals) -> str:
    """Describe the totals. The cost is shown only if the models have a price."""
    return f"{format_requests_and_tokens(totals)}{_cost(totals.cost_micros)}"


def format_requests_and_tokens(used: UsageTotals | UsageRecord) -> str:
    requests = translated_count("{count:,} request", "{count:,} requests", used.requests)
    if used.cached_tokens:
        tokens = translated_count(
            "{count:,} token read ({cached:,} from caches), {output_tokens:,} written",
            "{count:,} tokens read ({cached:,} from caches), {output_tokens:,} written",
            used.input_tokens,
            cached=used.cached_tokens,
            output_tokens=used.output_tokens,
        )
    else:
        tokens = translated_count(
            "{count:,} token read, {output_tokens:,} written",
            "{count:,} tokens read, {output_tokens:,} written",
            used.input_tokens,
            output_tokens=used.output_tokens,
        )
    return translated("{requests}, {tokens}", requests=requests, tokens=tokens)


def _cost(micros: int) -> str:
    if micros <= 0:
        return ""
    dollars = micros / MICROS
    return (
        translated(", about ${dollars:,.2f}", dollars=dollars)
        if dollars >= 1
        else translated(", about ${dollars:.4f}", dollars=dollars)
    )


@app_commands.command(description="What you or this server used, and what is left today")
@app_commands.describe(whose="Your own, or that of the whole server (Manage Server)")
async def usage(interaction: Interaction, whose: Whose = "mine") -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    place = quota_place(turn_channel_of(interaction), asker.person.id)
    await answer(interaction, usage_of(context, asker, place, whose))


COMMANDS: tuple[Command, ...] = (usage,)
