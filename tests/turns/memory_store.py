"""What turns ask of a database, in memory: virtual time and a database's threads do not mix."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from oshaberi.bot.storage.changes import ChangeFeed
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.records import (
    TAKEN_BACK,
    ConversationSummary,
    Exchange,
    Fact,
    KeyRecord,
    LorebookRecord,
    ModelRecord,
    PersonaRecord,
    StoredQuestion,
    StoredSurroundings,
    SurroundingsQuery,
    TurnRecord,
    TurnTraces,
    UsedRequest,
)
from oshaberi.bot.storage.usage import UsageAccount, UsageLimit, UsageTotals, UsedUp
from oshaberi.delivery.journal import JournalledPost, JournalledStream


class MemoryPersonas:
    def __init__(self, personas: Iterable[PersonaRecord]) -> None:
        self.all = tuple(personas)

    async def of(self, server_id: int) -> tuple[PersonaRecord, ...]:
        del server_id
        return self.all


class MemoryLorebooks:
    def __init__(self) -> None:
        self.records: tuple[LorebookRecord, ...] = ()

    async def of(self, server_id: int) -> tuple[LorebookRecord, ...]:
        return tuple(one for one in self.records if one.server_id == server_id)


class MemoryModels:
    def __init__(self) -> None:
        self.records: tuple[ModelRecord, ...] = ()

    async def chains(self, server_id: int, user_id: int = 0) -> dict[int, tuple[ModelRecord, ...]]:
        place = (server_id, 0 if server_id else user_id)
        return {0: tuple(one for one in self.records if (one.server_id, one.user_id) == place)}


class MemoryKeys:
    def __init__(self) -> None:
        self.records: list[KeyRecord] = []
        self.cooldowns: list[tuple[int, datetime]] = []

    async def of(self, server_id: int, provider: str, user_id: int = 0) -> tuple[KeyRecord, ...]:
        place = (server_id, 0 if server_id else user_id)
        mine = [k for k in self.records if k.provider == provider]
        return tuple(k for k in mine if (k.server_id, k.user_id) == place)

    async def by_provider(
        self, server_id: int, user_id: int = 0
    ) -> dict[str, tuple[KeyRecord, ...]]:
        providers = {key.provider for key in self.records}
        return {one: await self.of(server_id, one, user_id) for one in providers}

    async def rest(self, key_id: int, until: datetime) -> None:
        self.cooldowns.append((key_id, until))
        self.records = [
            replace(key, rest_until=until) if key.id == key_id else key for key in self.records
        ]


class MemorySprites:
    def __init__(self) -> None:
        self.kept: dict[int, tuple[str, str]] = {}

    async def remember(self, message_id: int, channel_id: int, persona: str, sprite: str) -> None:
        del channel_id
        self.kept[message_id] = (persona, sprite)

    async def labels(self, message_ids: Sequence[int]) -> Mapping[int, tuple[str, str]]:
        return {number: self.kept[number] for number in message_ids if number in self.kept}


class MemoryTables:
    def __init__(self) -> None:
        self.kept: dict[int, str] = {}

    async def remember(self, message_id: int, channel_id: int, source: str) -> None:
        del channel_id
        self.kept[message_id] = source

    async def sources(self, message_ids: Sequence[int]) -> Mapping[int, str]:
        return {number: self.kept[number] for number in message_ids if number in self.kept}


class MemoryExchanges:
    def __init__(self) -> None:
        self.kept: list[Exchange] = []

    async def add(self, exchange: Exchange, *, keep: int, days: int) -> None:
        del days
        self.kept = [*self.kept, exchange][-keep:]

    async def recent(self, channel_id: int, limit: int) -> tuple[Exchange, ...]:
        return tuple(one for one in self.kept if one.channel_id == channel_id)[-limit:]

    async def forget_at(self, channel_id: int, at: datetime) -> int:
        before = len(self.kept)
        self.kept = [one for one in self.kept if (one.channel_id, one.at) != (channel_id, at)]
        return before - len(self.kept)


class MemorySummaries:
    def __init__(self) -> None:
        self.kept: dict[int, ConversationSummary] = {}

    async def keep(self, summary: ConversationSummary, *, days: int) -> None:
        del days
        self.kept[summary.channel_id] = summary

    async def of(self, channel_id: int) -> ConversationSummary | None:
        return self.kept.get(channel_id)


class MemoryFacts:
    def __init__(self) -> None:
        self.kept: list[Fact] = []

    async def add(self, fact: Fact) -> Fact:
        self.kept.append(replace(fact, id=len(self.kept) + 1))
        return self.kept[-1]

    async def of(self, server_id: int, user_id: int | None) -> tuple[Fact, ...]:
        return tuple(f for f in self.kept if (f.server_id, f.user_id) == (server_id, user_id))

    async def delete(self, server_id: int, user_id: int | None, fact_id: int) -> bool:
        gone = [
            f for f in self.kept if (f.server_id, f.user_id, f.id) == (server_id, user_id, fact_id)
        ]
        self.kept = [f for f in self.kept if f not in gone]
        return bool(gone)

    async def delete_all(self, server_id: int, user_id: int | None) -> int:
        gone = await self.of(server_id, user_id)
        self.kept = [f for f in self.kept if f not in gone]
        return len(gone)


class MemoryUsage:
    def __init__(self) -> None:
        self.kept: list[tuple[int, str, str, int, int]] = []

    async def add(self, *entry: Any) -> None:
        self.kept.append(entry)


class MemoryUsageCounts:
    def __init__(self) -> None:
        self.kept: dict[tuple[date, UsageAccount], UsageTotals] = {}
        self.told: set[tuple[date, str, int, int]] = set()

    def of(self, day: date, account: UsageAccount) -> UsageTotals:
        return self.kept.get((day, account), UsageTotals())

    async def reserve(
        self, day: date, limits: Sequence[UsageLimit], input_tokens: int
    ) -> UsedUp | None:
        reached = await self.used_up(day, limits)
        if reached is None:
            await self.add(day, [one.account for one in limits], UsageTotals(1, input_tokens))
        return reached

    async def used_up(self, day: date, limits: Sequence[UsageLimit]) -> UsedUp | None:
        for limit in limits:
            counted = limit.used_up(self.of(day, limit.account))
            if counted is not None:
                return UsedUp(limit, counted)
        return None

    async def add(self, day: date, accounts: Iterable[UsageAccount], used: UsageTotals) -> None:
        for account in accounts:
            before = self.of(day, account)
            self.kept[day, account] = UsageTotals(
                before.requests + used.requests,
                before.input_tokens + used.input_tokens,
                before.output_tokens + used.output_tokens,
                before.cost_micros + used.cost_micros,
                before.cached_tokens + used.cached_tokens,
            )

    async def tell_once(self, *what: Any) -> bool:
        first = what not in self.told
        self.told.add(what)
        return first


class MemorySeen:
    def __init__(self) -> None:
        self.newest: dict[int, int] = {}

    async def note(self, channel_id: int, message_id: int) -> None:
        self.newest[channel_id] = max(message_id, self.newest.get(channel_id, 0))


class MemoryQuestions:
    def __init__(self) -> None:
        self.kept: dict[tuple[int, int], StoredQuestion] = {}

    @property
    def ids(self) -> list[int]:
        return sorted(message_id for _channel_id, message_id in self.kept)

    async def keep(self, question: StoredQuestion) -> None:
        self.kept[question.channel_id, question.message_id] = question

    async def settle(self, channel_id: int, message_ids: Collection[int]) -> None:
        for message_id in message_ids:
            self.kept.pop((channel_id, message_id), None)


class MemoryTurns:
    def __init__(self) -> None:
        self.kept: list[TurnRecord] = []
        self._next_id = 1

    async def remember(self, turn: TurnRecord) -> None:
        numbered = replace(turn, id=turn.id or self._next_id)
        self._next_id += 1
        self.kept = [*self.kept, numbered][-50:]

    async def whole(self, turn: TurnRecord) -> tuple[TurnRecord, ...]:
        return tuple(one for one in self.kept if one.first_id == turn.first_id)

    async def take_back(self, turn: TurnRecord) -> None:
        gone = replace(turn, message_ids=(), undelivered="", status=TAKEN_BACK)
        self.kept = [gone if one.id == turn.id else one for one in self.kept]

    async def set_messages(self, turn: TurnRecord) -> None:
        key = (turn.channel_id, turn.at)
        self.kept = [
            replace(one, message_ids=turn.message_ids) if (one.channel_id, one.at) == key else one
            for one in self.kept
        ]

    async def of_message(self, message_id: int) -> TurnRecord | None:
        found = [turn for turn in self.kept if message_id in turn.message_ids]
        return found[-1] if found else None

    async def reasons(self, channel_id: int, message_id: int) -> tuple[str, ...]:
        here = [turn.questions for turn in reversed(self.kept) if turn.channel_id == channel_id]
        return tuple(one[message_id] for one in here if message_id in one)

    async def last(self, channel_id: int) -> TurnRecord | None:
        found = [turn for turn in self.kept if turn.channel_id == channel_id]
        return found[-1] if found else None


class MemoryJournal:
    """Which responses were finished, with their turns or by themselves."""

    def __init__(self) -> None:
        self.finished: list[str] = []

    def queue_begin(self, stream: JournalledStream) -> None: ...
    async def intend(self, key: str, post: JournalledPost) -> None: ...
    def queue_sent(self, key: str, nonce: str, message_id: int | None) -> None: ...
    def queue_refused(self, key: str, nonce: str) -> None: ...

    async def finish(self, key: str) -> None:
        self.finished.append(key)


class MemoryReading:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def surroundings(self, query: SurroundingsQuery) -> StoredSurroundings:
        store, server = self._store, query.server_id
        common = await store.facts.of(server, None) if server else ()
        most = query.exchanges
        return StoredSurroundings(
            (*common, *await store.facts.of(server, query.user_id)),
            await store.memory.recent(query.channel_id, most) if most else (),
            await store.sprite_messages.labels(list(query.message_ids)),
            await store.tables.sources(list(query.message_ids)),
            await store.summaries.of(query.channel_id),
        )


class MemoryStore:
    def __init__(self, personas: Iterable[PersonaRecord]) -> None:
        self.personas = MemoryPersonas(personas)
        self.lorebooks = MemoryLorebooks()
        self.models = MemoryModels()
        self.keys = MemoryKeys()
        self.sprite_messages = MemorySprites()
        self.tables = MemoryTables()
        self.memory = MemoryExchanges()
        self.summaries = MemorySummaries()
        self.facts = MemoryFacts()
        self.usage = MemoryUsage()
        self.usage_counts = MemoryUsageCounts()
        self.seen = MemorySeen()
        self.questions = MemoryQuestions()
        self.turns = MemoryTurns()
        self.journal = MemoryJournal()
        self.changes = ChangeFeed(0.0)
        self.queued: list[UsedRequest] = []
        self.reading = MemoryReading(self)

    async def keep_turn(self, traces: TurnTraces) -> dict[str, StorageError]:
        """What fails does not hurt the rest."""
        turn, exchange = traces.turn, traces.exchange
        works: list[tuple[str, Coroutine[Any, Any, None]]] = [("turn", self.turns.remember(turn))]
        if exchange is not None:
            kept = self.memory.add(exchange, keep=traces.keep_exchanges, days=traces.exchange_days)
            works.append(("memory", kept))
        for number, words in traces.sprites.items():
            shown = self.sprite_messages.remember(number, turn.channel_id, *words)
            works.append(("sprites", shown))
        for number, source in traces.tables.items():
            works.append(("tables", self.tables.remember(number, turn.channel_id, source)))
        works += [("usage", self._count(used)) for used in traces.used]
        if traces.cut_question is not None:
            works.append(("question", self.questions.keep(traces.cut_question)))
        if traces.settled_question_id is not None:
            settled_ids = (traces.settled_question_id,)
            works.append(("question", self.questions.settle(turn.channel_id, settled_ids)))
        failed: dict[str, StorageError] = {}
        for what, work in works:
            try:
                await work
            except OSError as error:
                failed[what] = StorageError(str(error))
        if traces.journal_key is not None:
            self.journal.finished.append(traces.journal_key)
        return failed

    def queue_turn(self, traces: TurnTraces) -> None:
        """Nothing here has to wait for anything."""
        work = self.keep_turn(traces)
        try:
            work.send(None)
        except StopIteration:
            return
        raise AssertionError("this store was told to be slow")

    async def count_usage(self, used: Sequence[UsedRequest]) -> None:
        for one in used:
            await self._count(one)

    def queue_usage(self, used: Sequence[UsedRequest]) -> None:
        self.queued += used

    async def _count(self, used: UsedRequest) -> None:
        await self.usage_counts.add(used.day, used.accounts, used.counted)
        tokens = (used.input_tokens, used.output_tokens)
        await self.usage.add(used.server_id, used.provider, used.model, *tokens)
