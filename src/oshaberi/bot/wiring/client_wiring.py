"""Makes the client of a process, and what runs before its first question."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

import discord

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.client.discord_client import OshaberiClient
from oshaberi.bot.commands import bot_command_tree
from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.config.current_settings import CurrentSettings
from oshaberi.bot.coordination.shard_keeper import ShardKeeper
from oshaberi.bot.initiative.due_schedules import DueSchedules
from oshaberi.bot.initiative.opening_rules import WHY as OPENING
from oshaberi.bot.initiative.openings import Openings
from oshaberi.bot.observability.metrics import BotMetrics
from oshaberi.bot.recovery.crash_recovery import CrashRecovery
from oshaberi.bot.recovery.orphaned_journals import OrphanedJournals
from oshaberi.bot.recovery.question_recovery import QuestionRecovery
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import ShardShare
from oshaberi.bot.wiring.services import ProcessStores
from oshaberi.discord_io import LeaseFence, RequestBudget
from oshaberi.discord_io.requests.limits import PER_SECOND
from oshaberi.terminal_output import counted

log = logging.getLogger(__name__)


async def adopt_direct_keys(db: Database, application: discord.AppInfo | None) -> None:
    """Give the bot's owner the models and keys that older versions stored in direct messages.

    They did not store whose direct messages it was, and used the keys for everybody. If a team owns
    the bot, the owner is unknown: the keys stay unused, and a line in the log says so.
    """
    keys, models = await db.keys.unowned(), await db.models.unowned()
    if application is None or not keys + models:
        return
    owner_id = _sole_owner(application)
    if owner_id is None:
        log.warning(
            "API keys (%d) and models (%d) that were set in direct messages are not used any more: "
            "the bot has several owners, and whose they are is not known; set them anew",
            keys,
            models,
        )
        return
    await db.keys.adopt(owner_id)
    await db.models.adopt(owner_id)
    log.warning(
        "API keys (%d) and models (%d) that were set in direct messages served everybody; from now "
        "on they serve only the direct messages of the bot's owner. For everybody put them into "
        "`models` of the settings file",
        keys,
        models,
    )


def _sole_owner(application: discord.AppInfo) -> int | None:
    if application.team is None:
        return application.owner.id
    members = application.team.members
    return members[0].id if len(members) == 1 else None


class ConnectedBot:
    """The client, and the recovery of what earlier processes left."""

    def __init__(
        self,
        settings: LoadedSettings,
        stores: ProcessStores,
        context: BotContext,
        current_settings: CurrentSettings,
        guild_ready_timeout: float,
        on_ready: Callable[[], None],
    ) -> None:
        self._stores = stores
        self._context = context
        self._on_ready = on_ready
        self._is_ready = asyncio.Event()
        fence = LeaseFence()
        table = stores.shared.shard_leases() if settings.shards == "auto" else None
        self.keeper = None if table is None else ShardKeeper(table, fence, settings.shard_count)
        self.client = OshaberiClient(
            context,
            partial(bot_command_tree, claim=stores.shared.claim),
            alone=stores.shared.alone,
            claim=stores.shared.claim,
            when_ready=self._when_ready,
            take_up=self._take_up,
            guild_ready_timeout=guild_ready_timeout,
            shard_ids=list(settings.shard_ids) or None,
            shard_count=settings.shard_count or None,
            shard_terms=self.keeper,
            fence=fence,
            outage=context.services.traffic.outage,
            budget=RequestBudget(0 if settings.discord_api_url else PER_SECOND),
        )
        db, instance, find = stores.db, settings.instance, self.client.find_turn_channel
        max_age = timedelta(seconds=settings.max_question_age_s)
        say_in = current_settings.language_of
        self.due_schedules = DueSchedules(
            db,
            instance,
            context.channel_turns,
            find,
            self._share,
            context.services.settings,
            context.services.clock,
        )
        self.openings = Openings(
            db,
            self.client,
            context.channel_turns,
            lambda: self._share() is not None,
            context.services.clock,
            context.services.background.start,
        )
        self.client.hear_happenings(self.openings.note_member, self.openings.note_event)
        occasions = {**self.due_schedules.occasions, OPENING: self.openings.passed}
        self._recovery = CrashRecovery(db, instance, find, stores.shared.alone, say_in, occasions)
        self._questions = QuestionRecovery(
            db, instance, find, context.channel_turns, max_age, say_in, occasions
        )
        self.orphaned_journals = OrphanedJournals(
            db, instance, self._recovery, self._questions, self.client.is_ready, stores.leases
        )

    def problem(self) -> str | None:
        """Return why the bot takes no new questions, or None."""
        if self._context.channel_turns.is_closing:
            return "the bot is ending"
        if not self._is_ready.is_set():
            return "the bot is starting"
        if self.client.outage is not None and (away := self.client.outage.problem()) is not None:
            return f"Discord's REST API: {away}"
        return None if self.keeper is None else self.keeper.problem()

    def _share(self) -> ShardShare | None:
        """Return which servers this process serves, once it has resumed what earlier ones left."""
        return self.client.share() if self._is_ready.is_set() else None

    async def _when_ready(self) -> None:
        await adopt_direct_keys(self._stores.db, self.client.application)
        count = await self._recovery.run()
        changed = await self._context.channel_turns.finish_changes(self.client.find_turn_channel)
        if changed:
            log.info("shown whole: %s of answers", counted(changed, "version"))
        if count:
            log.info("settled: %s of an earlier process", counted(count, "answer"))
        self._is_ready.set()
        self._on_ready()
        if self.keeper is not None:
            self.keeper.get_ready()

    async def _take_up(self) -> None:
        await self._questions.run()

    @asynccontextmanager
    async def watched(self, bot_metrics: BotMetrics) -> AsyncIterator[None]:
        """Measure the client and share its limits with other processes; close it at the end."""
        self._watch(bot_metrics)
        client, shared = self.client, self._stores.shared
        async with (
            bot_metrics.process_gauges.measuring_lag(),
            shared.share_requests(client.guard, client.budget),
            _closing(client),
        ):
            yield

    def _watch(self, bot_metrics: BotMetrics) -> None:
        client, stores = self.client, self._stores
        slots, channel_turns = self._context.services.traffic.slots, self._context.channel_turns
        bot_metrics.discord_requests.watch(client.guard, client.budget, client.request_meter)
        client.histories.on_read = bot_metrics.note_history
        stores.db.watch(bot_metrics.database_meter())
        client.unanswered.on_unanswered = bot_metrics.note_unanswered
        for link in self._context.services.models.operator.models:
            bot_metrics.expect_model(link.model.provider, link.model.model)
        bot_metrics.process_gauges.watch(
            turns_running=lambda: slots.taken,
            turns_waiting=lambda: channel_turns.waiting() + slots.waiting,
            shards=lambda: len(client.gateway_state.shard_ids()),
            shards_connected=client.gateway_state.connected_count,
            discord_requests_waiting=lambda: client.budget.waiting,
            database_entries_kept=stores.db.kept_entries,
            discord_away=lambda: client.outage is not None and client.outage.is_away,
            database_away=lambda: stores.db.problem() is not None,
            redis_away=lambda: stores.shared.problem is not None,
        )


@asynccontextmanager
async def _closing(client: OshaberiClient) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await client.close()
