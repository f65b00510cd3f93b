"""What a model would read if somebody asked this now: without asking it, and without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from oshaberi.bot.conversation.messages import (
    ChannelMessage,
    IncomingMessage,
    Person,
    TurnChannel,
)
from oshaberi.bot.conversation.persona_options import options_of
from oshaberi.bot.conversation.turn_config import EffectiveSettings
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.admission.channel_queue import QueuedJob, TurnRequest
from oshaberi.bot.turns.context.building import context_items
from oshaberi.bot.turns.context.surroundings import ContextSources, surroundings
from oshaberi.bot.turns.services.lore_shelf import smallest_window
from oshaberi.bot.turns.services.model_access import ModelAccess
from oshaberi.providers.request.model_request import ContextItem, Tag
from oshaberi.providers.request.token_estimate import item_tokens

TAGS: tuple[Tag, ...] = (
    *("system", "persona", "sample", "memory", "history", "knowledge", "current"),
)


@dataclass(frozen=True, slots=True)
class RequestPreview:
    """The items of a request, and the window of the smallest model if it is known."""

    items: tuple[ContextItem, ...]
    window: int | None

    def tokens(self, tag: Tag) -> int:
        return sum(item_tokens(item) for item in self.items if item.tag == tag)

    @property
    def total(self) -> int:
        return sum(map(item_tokens, self.items))

    def text(self) -> str:
        """Return the request as a text to read."""
        return "\n\n".join(self._parts()) + "\n"

    def _parts(self) -> Iterator[str]:
        for item in self.items:
            yield f"--- {item.role}, {item.tag} (tokens: {item_tokens(item)})\n{item.text}"


async def preview_request(
    sources: ContextSources,
    models: ModelAccess,
    settings: EffectiveSettings,
    turn_channel: TurnChannel,
    personas: tuple[PersonaRecord, ...],
    persona: PersonaRecord,
    asker: Person,
    question: str,
) -> RequestPreview:
    """Return the request that this question would lead to, before it is fitted to a window."""
    path = turn_channel.path
    newest_id = (turn_channel.newest_message_id or 0) + 1
    said = ChannelMessage(newest_id, asker, question, sources.clock())
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
    around = await surroundings(sources, TurnRequest(job, persona), window)
    return RequestPreview(context_items(around), window)
