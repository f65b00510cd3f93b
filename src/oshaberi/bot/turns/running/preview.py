"""What a model would read if somebody asked this now: without asking it, and without a trace.

It is what a turn would send: with the tools, and fitted to the window of the model that would be
asked first. Only a summary of what does not fit is not made, because a model would have to.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from oshaberi.bot.conversation.messages import (
    ChannelMessage,
    IncomingMessage,
    Person,
    TurnChannel,
)
from oshaberi.bot.conversation.persona_options import (
    memory_of,
    options_of,
    settings_of_persona,
)
from oshaberi.bot.conversation.turn_config import EffectiveSettings
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.tools.definition import ToolContext
from oshaberi.bot.turns.admission.channel_queue import QueuedJob, TurnRequest
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.bot.turns.context.building import context_items
from oshaberi.bot.turns.context.surroundings import (
    ContextSources,
    HistoryStart,
    surroundings,
    text_config,
)
from oshaberi.bot.turns.generation.model_call import request_for
from oshaberi.bot.turns.services.lore_shelf import smallest_window
from oshaberi.bot.turns.services.model_access import ModelAccess, ModelCandidate
from oshaberi.bot.turns.services.turn_services import TurnServices
from oshaberi.delivery.config import StreamConfig
from oshaberi.providers.model_options import options_of as options_of_model
from oshaberi.providers.request.model_request import ContextItem, Request, Tag
from oshaberi.providers.request.preparation import FittedRequest
from oshaberi.providers.request.token_estimate import item_tokens, request_cost

TAGS: tuple[Tag, ...] = (
    *("system", "persona", "sample", "memory", "history", "knowledge", "current"),
)


@dataclass(frozen=True, slots=True)
class RequestPreview:
    """A request as it would be sent, and to which model: empty if none can be asked here."""

    fitted: FittedRequest
    model: str = ""

    @property
    def window(self) -> int | None:
        return self.fitted.window

    @property
    def items(self) -> tuple[tuple[ContextItem, int], ...]:
        """Return the items in order, with the tokens of each."""
        paired = zip(self.fitted.request.items, self.fitted.cost.items, strict=True)
        return tuple((one, tokens) for one, tokens in paired if isinstance(one, ContextItem))

    def tokens(self, tag: Tag) -> int:
        return sum(tokens for one, tokens in self.items if one.tag == tag)

    @property
    def tool_tokens(self) -> int:
        return self.fitted.cost.tools

    @property
    def total(self) -> int:
        return self.fitted.cost.tokens

    def text(self) -> str:
        """Return the request as a text to read."""
        return "\n\n".join(self._parts()) + "\n"

    def tool_text(self) -> str:
        """Return the tools as the model is told of them."""
        tools = self.fitted.request.tools
        return "\n\n".join(
            f"{one.name}: {one.description}\n{json.dumps(dict(one.parameters), ensure_ascii=False)}"
            for one in tools
        )

    def _parts(self) -> Iterator[str]:
        window = "unknown" if self.window is None else self.window
        yield f"--- to {self.model or 'nobody'} (tokens: {self.total}, window: {window})"
        for item, tokens in self.items:
            yield f"--- {item.role}, {item.tag} (tokens: {tokens})\n{item.text}"
        if self.fitted.request.tools:
            yield f"--- tools (tokens: {self.tool_tokens})\n{self.tool_text()}"
        if self.fitted.left_out:
            lost = sum(item_tokens(one) for one in self.fitted.left_out)
            yield f"--- without room: {len(self.fitted.left_out)} (tokens: {lost})"
        if self.fitted.lost_tools:
            yield "--- no room for the tools"


async def preview_request(
    services: TurnServices,
    settings: EffectiveSettings,
    turn_channel: TurnChannel,
    personas: tuple[PersonaRecord, ...],
    persona: PersonaRecord,
    asker: Person,
    question: str,
) -> RequestPreview:
    """Return the request that this question would lead to."""
    path, models = turn_channel.path, services.models
    newest_id = (turn_channel.newest_message_id or 0) + 1
    said = ChannelMessage(newest_id, asker, question, services.clock())
    incoming = IncomingMessage(
        said,
        path.channel_id,
        path.server_id,
        path.parent_id,
        mentions_us=True,
        category_id=path.category_id,
        is_age_restricted=turn_channel.is_age_restricted,
    )
    job = QueuedJob(turn_channel, (incoming,), (persona,), personas, "mention", asker.id, settings)
    chain = await models.chain(path, asker.id, options_of(persona).models)
    window = smallest_window(candidate.model for candidate in chain)
    around = await surroundings(
        _sources(services, path.channel_id), TurnRequest(job, persona), window
    )
    settings = settings_of_persona(settings, persona)
    stream = replace(settings.stream, text=text_config(settings.stream.text, around))
    settings = replace(settings, stream=stream)
    tools = services.answer_tools.tools.declarations(
        _tool_context(services, settings, job, stream, memory_of(persona))
    )
    candidate = await _first_usable(models, chain)
    options = options_of_model(candidate.model.params if candidate is not None else {})
    request = request_for(options, context_items(around), tools, stream, settings.turn)
    if candidate is None:
        return RequestPreview(FittedRequest(request, window, request_cost(request)))
    return await _fitted(models, candidate, request)


def _sources(services: TurnServices, channel_id: int) -> ContextSources:
    """Return the sources of a turn. Where the channel's history begins is read, but not noted."""
    starts = BoundedCache[int, HistoryStart](1)
    known = services.notes.history_starts.get(channel_id)
    if known is not None:
        starts.put(channel_id, known)
    return ContextSources(
        *(services.db, services.models.operator, services.lore, services.clock, starts),
        read_text=services.read_text,
        usable_faces=services.usable_faces,
    )


def _tool_context(
    services: TurnServices,
    settings: EffectiveSettings,
    job: QueuedJob,
    stream: StreamConfig,
    memory: int,
) -> ToolContext:
    return ToolContext(
        turn_channel=job.turn_channel,
        incoming=job.newest,
        user_id=job.user_id,
        memory_of=memory,
        store=services.db,
        turn=settings.turn,
        stream=stream,
        now=services.clock,
    )


async def _first_usable(
    models: ModelAccess, chain: tuple[ModelCandidate, ...]
) -> ModelCandidate | None:
    for candidate in chain:
        if not candidate.lacks_key and await models.may_ask(candidate.model):
            return candidate
    return None


async def _fitted(
    models: ModelAccess, candidate: ModelCandidate, request: Request
) -> RequestPreview:
    model = candidate.model
    options = options_of_model(model.params)
    settings = {**options.endpoint_settings(), **candidate.settings}
    address = (model.provider, model.model, model.base_url, candidate.secret)
    name = f"{model.provider}/{model.model}"
    async with models.adapters.lease(*address, settings) as adapter:
        return RequestPreview(await adapter.fitted(request), name)
