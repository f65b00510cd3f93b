"""A channel, models and a database for turns: all in memory, in virtual time, and inspectable.

The database is the real one: virtual time stands still while it is awaited.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy import text as sql

from oshaberi.bot.conversation.answer_buttons import ButtonRows
from oshaberi.bot.conversation.messages import (
    ChannelInfo,
    ChannelMessage,
    ChannelPath,
    IncomingMessage,
    Person,
    PostedAnswer,
    PostedMessage,
)
from oshaberi.bot.conversation.turn_config import EffectiveSettings, TurnConfig
from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.records import (
    Exchange,
    KeyRecord,
    ModelRecord,
    PersonaRecord,
    StoredQuestion,
    TurnRecord,
    UsageRecord,
)
from oshaberi.bot.storage.repositories.journal import QuestionRepository
from oshaberi.bot.storage.schema.table_rows import TurnRow
from oshaberi.bot.storage.usage import UsageAccount, UsageTotals
from oshaberi.bot.turns.admission.questions import Claim
from oshaberi.bot.turns.admission.rules import UnaddressedMessage
from oshaberi.bot.turns.channel_turns import ChannelTurns
from oshaberi.bot.turns.services.adapter_pool import AdapterPool
from oshaberi.bot.turns.services.model_access import OperatorChoices, OperatorModel
from oshaberi.bot.turns.services.turn_services import TurnServices
from oshaberi.chunks import Chunk, ProviderError, ToolCall, Usage
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.recording_sink import RecordingSink
from oshaberi.delivery.sink import Embed, Sink, WebhookFace
from oshaberi.errors import ConfigError
from oshaberi.providers.request.model_request import ContextItem, Request
from oshaberi.providers.request.preparation import FittedRequest, overflowing
from oshaberi.providers.request.token_estimate import request_cost
from oshaberi.stream.provider_protocol import ScriptedProvider, Step
from oshaberi.stream.stops import StopRegistry
from oshaberi.text.config import TextConfig
from oshaberi.virtual_time import run_virtual
from tests.storage.migrated_database import database_in_memory, place_database
from tests.turns.shared_services import SwitchedSettings, changed, shared_services

T = TypeVar("T")

EPOCH = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
TODAY = EPOCH.date()
CHANNEL, SERVER, BOT_ID = 50, 7, 999
ALICE = Person(1, "Alice", ("alice_w",))
BOB = Person(2, "Bob", ("bob",))
TOMORI = PersonaRecord(SERVER, "Tomori", prompt="You are shy.", is_default=True)
REN = PersonaRecord(SERVER, "Ren", triggers=("ren",), avatar_url="https://x.test/ren.png")


def text(content: str) -> Chunk:
    return Chunk("text", content)


def calls(*asked: ToolCall) -> Chunk:
    return Chunk("function_call", calls=asked)


def fails(kind: Any, raw: Any = None, message: str = "") -> Chunk:
    return Chunk("error", error=ProviderError(kind, message, raw=raw))


def used(tokens_in: int, tokens_out: int) -> Chunk:
    return Chunk("done", finish_reason="stop", usage=Usage(tokens_in, tokens_out))


class Models:
    """Every scripted model. Scripts are played in order, whoever asks; then it says `Hm.`."""

    def __init__(self, stops: StopRegistry) -> None:
        self.stops = stops
        self.requests: list[Request] = []
        self.asked: list[tuple[str, str | None]] = []
        """Model and key of each request."""
        self.scripts: dict[str, deque[Sequence[Step]]] = {}
        self.closed = 0
        self.window: int | None = None
        self.settings: list[Mapping[str, Any]] = []
        """Settings of the endpoint that each was made with."""

    def play(self, *scripts: Sequence[Step], model: str = "m") -> None:
        self.scripts.setdefault(model, deque()).extend(scripts)

    def connect(
        self, _provider: str, model: str, *, api_key: str | None, base_url: Any, **settings: Any
    ) -> Any:
        del base_url
        self.settings.append(settings)
        if model == "broken":
            raise ConfigError("scripted: this model is broken")
        return Model(self, model, api_key)


class Model:
    name = "scripted"
    reemits = False
    text: Mapping[str, Any] = MappingProxyType({})
    continues = False

    def __init__(self, models: Models, model: str, key: str | None) -> None:
        self.model = model
        self._models = models
        self._key = key

    def open(self, request: Request) -> AsyncIterator[Any]:
        self._models.requests.append(request)
        self._models.asked.append((self.model, self._key))
        scripts = self._models.scripts.get(self.model)
        steps = scripts.popleft() if scripts else [text("Hm.")]
        script = ScriptedProvider(steps, stops=self._models.stops, channel=str(CHANNEL))
        return script.open(request)

    def takes_prefill(self, _request: Request) -> bool:
        return True

    async def left_out(self, request: Request, share: float = 1.0) -> frozenset[int]:
        return overflowing(request, self._models.window, share=share)

    async def fitted(self, request: Request) -> FittedRequest:
        return FittedRequest(request, self._models.window, request_cost(request))

    def normalise(self, raw: Any) -> Chunk | None:
        return raw if isinstance(raw, Chunk) else None

    def classify(self, error: Exception) -> ProviderError:
        return ProviderError("api_error", str(error))

    async def aclose(self) -> None:
        self._models.closed += 1


class ChannelSink(RecordingSink):
    """Numbers its messages together with everybody else's."""

    def __init__(self, turn_channel: FakeTurnChannel, **options: Any) -> None:
        super().__init__(**options)
        self._turn_channel = turn_channel

    def _next_id(self) -> int:
        return self._turn_channel.next_id()


class FakeTurnChannel:
    """One channel. What people write is put in with `write`."""

    def __init__(
        self,
        channel_id: int = CHANNEL,
        server_id: int = SERVER,
        first_id: int = 101,
        parent_id: int | None = None,
        **options: Any,
    ) -> None:
        self.channel_id = channel_id
        self.server_id = server_id
        self.path = ChannelPath(server_id, channel_id, parent_id)
        self.is_age_restricted = False
        self.locale = "en-US"
        self.people: list[ChannelMessage] = []
        self.reactions: list[tuple[int, str]] = []
        self.undone: list[tuple[int, str]] = []
        self.deleted: list[int] = []
        self.rewritten: list[tuple[int, str]] = []
        self.buttons: list[tuple[int, list[str]]] = []
        self.thoughts: list[tuple[int, tuple[Embed, ...], WebhookFace | None]] = []
        self.answering: list[int | None] = []
        self.emojis: tuple[str, ...] = ()
        self.notified: frozenset[int] | None = None
        self._last_id = first_id - 1
        self.channel = ChannelSink(self, display_name="Tomori", **options)

    def next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def write(
        self, words: str, author: Person = ALICE, *, mention: bool = True, **fields: Any
    ) -> IncomingMessage:
        """Somebody writes, and the bot hears of it."""
        replied = fields.pop("replied", None)
        said = ChannelMessage(self.next_id(), author, words, now(), **fields)
        self.people.append(said)
        return IncomingMessage(
            said,
            self.channel_id,
            self.server_id,
            mentions_us=mention,
            replied=replied,
            is_age_restricted=self.is_age_restricted,
        )

    @property
    def newest_message_id(self) -> int:
        return self._last_id

    @property
    def contents(self) -> list[str]:
        return self.channel.contents

    @property
    def embeds(self) -> list[str]:
        return [p.post.embed.title for p in self.channel.posted if p.post.embed]

    def sink(self, answering: IncomingMessage | None) -> Sink:
        self.answering.append(None if answering is None else answering.said.id)
        return self.channel

    def notifying(self, user_ids: frozenset[int], /) -> FakeTurnChannel:
        self.notified = user_ids
        return self

    async def channel_info(self, before: int | None, limit: int) -> ChannelInfo:
        ours = [
            ChannelMessage(
                posted.id,
                Person(BOT_ID, "Tomori", is_bot=True),
                posted.post.content,
                EPOCH,
                by_us=True,
                shown_as=posted.post.face.username if posted.post.face else "Tomori",
            )
            for posted in self.channel.posted
            if posted.post.content and posted.id not in self.deleted
        ]
        everything = sorted([*ours, *self.people], key=lambda one: one.id)
        seen = [one for one in everything if before is None or one.id < before]
        return ChannelInfo(
            server_name="Home",
            channel_name="general",
            bot_name="Tomori",
            people=tuple(dict.fromkeys(one.author for one in self.people)),
            emojis=self.emojis,
            history=tuple(seen[-limit:]) if limit else (),
        )

    async def open_thread(self, *_thread: object) -> None:
        """No threads here."""

    async def rename(self, _name: str, _known_as: str) -> bool:
        return False

    async def said(self, message_id: int) -> ChannelMessage | None:
        return next((one for one in self.people if one.id == message_id), None)

    async def react(self, message_id: int, emoji: str) -> bool:
        self.reactions.append((message_id, emoji))
        return True

    async def unreact(self, message_id: int, emoji: str) -> None:
        self.undone.append((message_id, emoji))

    async def delete(self, message_ids: Sequence[int]) -> None:
        self.deleted += message_ids

    async def posted(self, message_ids: Sequence[int]) -> PostedAnswer:
        there = [one for one in self.channel.posted if one.id not in self.deleted]
        ours = tuple(
            PostedMessage(one.id, one.post.content, has_more=one.post.embed is not None)
            for one in there
            if one.id in message_ids
        )
        return PostedAnswer(ours)

    async def rewrite(self, message: PostedMessage, text: str) -> None:
        self.rewritten.append((message.id, text))

    async def set_buttons(self, message_id: int, rows: ButtonRows) -> None:
        self.buttons.append((message_id, [one.action for row in rows for one in row]))

    async def server_view(self, _user_id: int) -> None:
        """No server around it."""

    async def log_thoughts(
        self, channel_id: int, embeds: Sequence[Embed], face: WebhookFace | None
    ) -> None:
        self.thoughts.append((channel_id, tuple(embeds), face))


@dataclass
class TurnHarness:
    """Everything of one test."""

    services: TurnServices
    turn_channel: FakeTurnChannel
    channel_turns: ChannelTurns
    db: Database
    claim: Claim | None = None
    steps: list[timedelta] = field(default_factory=list)
    """By how much the wall clock was set forward or back."""

    @property
    def models(self) -> Models:
        connect: Any = self.services.models.adapters._connect
        models: Models = connect.__self__
        return models

    @property
    def operator(self) -> OperatorChoices:
        return self.services.models.operator

    @property
    def settings(self) -> SwitchedSettings:
        switched: Any = self.services.settings
        assert isinstance(switched, SwitchedSettings)
        return switched

    def change(self, **parts: Any) -> None:
        """Begin again with other parts of the services. No turn has run yet."""
        self.services = changed(self.services, **parts)
        self.channel_turns = ChannelTurns.over(self.services, claim=self.claim)

    async def hear(self, words: str, author: Person = ALICE, **fields: Any) -> str:
        """Somebody writes; the turn has only begun when this returns.

        As the client does: what does not address the bot is ignored first, if it can be.
        """
        incoming = self.turn_channel.write(words, author, **fields)
        if is_unaddressed(incoming):
            reason = await self.channel_turns.why_ignored(unaddressed(incoming))
            if reason is not None:
                return reason
        return await self.channel_turns.submit(incoming, self.turn_channel)

    async def answer(self, words: str = "hi", author: Person = ALICE, **fields: Any) -> str:
        """Somebody writes, and everything that follows is over when this returns."""
        reason = await self.hear(words, author, **fields)
        await self.channel_turns.idle()
        return reason

    # -- what is stored, with what waited to be written ------------------------------------------

    async def turns(self) -> list[TurnRecord]:
        """All turns, oldest first."""
        rows = await self._rows(select(TurnRow.channel_id).distinct())
        found = [turn for one in rows for turn in await self.db.turns.newest(one, 100)]
        return sorted(found, key=lambda turn: turn.id)

    async def questions(self) -> list[StoredQuestion]:
        """The open questions, as the next process of this name finds them."""
        await self.db.journal.flush()
        next_process = QuestionRepository(self.db._store)
        found = await next_process.left_by(self.services.instance)
        return [replace(one, at=None) for one in found]

    async def question_ids(self) -> list[int]:
        return sorted(one.message_id for one in await self.questions())

    async def exchanges(self) -> list[Exchange]:
        await self.db.journal.flush()
        return list(await self.db.memory.recent(CHANNEL, 100))

    async def totals(self, account: UsageAccount, day: date = TODAY) -> UsageTotals:
        await self.db.journal.flush()
        return await self.db.usage_counts.of(account, day, day)

    async def usage(self) -> UsageRecord:
        """What the server's only model has used."""
        await self.db.journal.flush()
        (used,) = await self.db.usage.of(SERVER)
        return used

    async def seen(self, channel_id: int = CHANNEL) -> int | None:
        await self.db.journal.flush()
        return await self.db.seen.last(channel_id)

    async def have_models(self, *chain: ModelRecord, keys: Sequence[KeyRecord] = ()) -> None:
        """Give a server, or a person, these models and keys."""
        await self.db.models.set_chain(chain[0].server_id, chain, chain[0].user_id)
        for key in keys:
            await self.db.keys.add(key)

    async def forbid(self, *tables: str) -> None:
        """Make the database refuse everything that concerns these tables."""
        async with self.db._store.write() as session:
            for table in tables:
                await session.execute(sql(f"ALTER TABLE {table} RENAME TO hidden_{table}"))

    async def _rows(self, statement: Any) -> list[Any]:
        await self.db.journal.flush()
        async with self.db._store.read() as session:
            return list(await session.scalars(statement))


def is_unaddressed(incoming: IncomingMessage) -> bool:
    is_person = not incoming.said.by_us and not incoming.said.author.is_bot
    return is_person and not incoming.is_addressed and not incoming.is_direct


def unaddressed(incoming: IncomingMessage) -> UnaddressedMessage:
    """Return the message as the client sees it before it reads it in full."""
    said = incoming.said
    return UnaddressedMessage(
        said.id,
        incoming.path,
        said.author.id,
        lambda: said.author.role_ids,
        said.text,
        incoming.is_for_others,
        incoming.bot_name,
    )


def now() -> datetime:
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())


def spoil(thing: Any, name: str, how: Any) -> None:
    """Put something else in the place of a method."""
    setattr(thing, name, how)


def link(model: str = "m", *keys: str) -> OperatorModel:
    return OperatorModel(ModelRecord(0, "scripted", model), keys)


def quick(**options: Any) -> StreamConfig:
    """Degree 1: sent at once."""
    words = {key: options.pop(key) for key in list(options) if key in _TEXT}
    return StreamConfig(text=TextConfig(**{"humanizer_degree": 1, **words}), **options)


USUAL: Mapping[str, Any] = MappingProxyType({"reply_mode": "first", "burst_wait_ms": 0})
"""Settings of turns in tests that are not about them."""

_TEXT = frozenset(TextConfig.__dataclass_fields__)


def run_turns(
    scenario: Callable[[TurnHarness], Coroutine[Any, Any, T]],
    *scripts: Sequence[Step],
    turn: Mapping[str, Any] | None = None,
    stream: StreamConfig | None = None,
    personas: Iterable[PersonaRecord] = (TOMORI, REN),
    links: Iterable[OperatorModel] | None = None,
    turn_channel: Mapping[str, Any] | None = None,
    claim: Claim | None = None,
    **services: Any,
) -> T:
    """Run a scene in virtual time. The scripts are what model `m` says, in order."""

    async def main() -> T:
        config = TurnConfig(**{**USUAL, **(turn or {})})
        steps: list[timedelta] = []

        def clock() -> datetime:
            return now() + sum(steps, timedelta())

        async with database_in_memory(personas, clock) as db:
            settings = EffectiveSettings(stream or quick(), config)
            made = services_of(settings, db, clock=clock, **services)
            made.models.operator.models = tuple(links or [link()])
            place = FakeTurnChannel(**(turn_channel or {}))
            turns = ChannelTurns.over(made, claim=claim)
            harness = TurnHarness(made, place, turns, db, claim, steps)
            harness.models.play(*scripts)
            try:
                return await scenario(harness)
            finally:
                await end_turns()

    return run_virtual(main())


def run_stored_turns(
    folder: Path,
    scenario: Callable[[TurnHarness, Database], Coroutine[Any, Any, T]],
    *scripts: Sequence[Step],
) -> T:
    """Run a scene with the real database, in a file, in real time."""

    async def main() -> T:
        vault = SecretVault.from_environment_or_file(folder / "key", {})
        place_database(folder / "turns.db")
        async with Database.open(f"sqlite:///{folder}/turns.db", vault) as db:
            for persona in (TOMORI, REN):
                await db.personas.save(persona)
            settings = EffectiveSettings(quick(), TurnConfig(**USUAL))
            made = services_of(settings, db, instance="test")
            made.models.operator.models = (link(),)
            harness = TurnHarness(made, FakeTurnChannel(), ChannelTurns.over(made), db)
            harness.models.play(*scripts)
            return await scenario(harness, db)

    return asyncio.run(main())


def tasks_left() -> set[asyncio.Task[Any]]:
    """The running tasks besides the scene itself and those of the open database."""
    databases = {"group commit", "circuit breaker"}
    others = asyncio.all_tasks() - {asyncio.current_task()}
    return {task for task in others if task.get_name() not in databases}


async def end_turns() -> None:
    """End what a scene has left running, as the loop would, before the database is closed."""
    left = tasks_left()
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def services_of(
    fixed: EffectiveSettings,
    db: Database,
    operator_turn: TurnConfig | None = None,
    context_since: datetime | None = None,
    clock: Callable[[], datetime] = now,
    **parts: Any,
) -> TurnServices:
    """Return what turns share, with the same settings for every channel."""
    stops = StopRegistry()

    async def settings(_path: ChannelPath) -> EffectiveSettings:
        return fixed

    operator = OperatorChoices(
        persona=TOMORI, turn=operator_turn or TurnConfig(), context_since=context_since
    )
    pool = AdapterPool(Models(stops).connect)
    return shared_services(
        SwitchedSettings(settings), db, operator, pool, clock, stops=stops, **parts
    )


def dialogue_of(request: Request) -> list[str]:
    """The texts of a request without our notes before the question."""
    items = [item for item in request.items if isinstance(item, ContextItem)]
    return [item.text for item in items if item.tag not in ("knowledge", "memory")]
