"""What a model would read if somebody asked this now: without asking it, and without a trace.

It is what a turn would send: with the tools, and fitted to the window of the model that would be
asked first. Only a summary of what does not fit is not made, because a model would have to.
"""

from __future__ import annotations

import json
import logging
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

log = logging.getLogger(__name__)

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
    items = context_items(around)
    for candidate in chain:
        if candidate.lacks_key or not await models.may_ask(candidate.model):
            continue
        options = options_of_model(candidate.model.params)
        request = request_for(options, items, tools, stream, settings.turn)
        found = await _fitted(models, candidate, request)
        if found is not None:
            return found
    request = request_for(options_of_model({}), items, tools, stream, settings.turn)
    return RequestPreview(FittedRequest(request, window, request_cost(request)))


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


async def _fitted(
    models: ModelAccess, candidate: ModelCandidate, request: Request
) -> RequestPreview | None:
    """Return the request as this model would get it; None if the model cannot be used."""
    model = candidate.model
    options = options_of_model(model.params)
    settings = {**options.endpoint_settings(), **candidate.settings}
    address = (model.provider, model.model, model.base_url, candidate.secret)
    try:
        async with models.adapters.lease(*address, settings) as adapter:
            name = f"{model.provider}/{model.model}"
            return RequestPreview(await adapter.fitted(request), name)
    except Exception as error:
        # Whatever an SDK or a plug-in raises, another model may do.
        log.info("%s cannot be used: %s", model.provider, type(error).__name__)
        return None
