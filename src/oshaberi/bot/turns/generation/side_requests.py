"""Small requests besides an answer: a summary, a thread's name, a draft of a character.

They count towards the quotas.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from typing import Any

from oshaberi.bot.turns.quotas import RequestQuota, Reservation
from oshaberi.bot.turns.services.adapter_pool import ConnectedAdapter
from oshaberi.bot.turns.services.model_access import ModelAccess, ModelCandidate
from oshaberi.chunks import Usage
from oshaberi.events import Message
from oshaberi.providers.model_options import options_of
from oshaberi.providers.request.model_request import Request
from oshaberi.providers.request.token_estimate import request_tokens
from oshaberi.stream.observers import request_span
from oshaberi.text.config import TextConfig
from oshaberi.text.engine import TextEngine

log = logging.getLogger(__name__)

LONGEST_ANSWER = 60_000
"""How many characters of an answer are read."""

Ask = Callable[
    [ConnectedAdapter, ModelCandidate, Request, RequestQuota, float], Coroutine[Any, Any, str]
]


async def ask_any(
    models: ModelAccess,
    candidates: Sequence[ModelCandidate],
    request: Request,
    quota: RequestQuota,
    purpose: str,
    patience_s: float,
    *,
    ask: Ask | None = None,
) -> str:
    """Return what the first usable model says to a small request; empty if none does."""
    for candidate in candidates:
        model = candidate.model
        if candidate.lacks_key or not await models.may_ask(model):
            continue
        options = options_of(model.params)
        settings = {**options.endpoint_settings(), **candidate.settings}
        address = (model.provider, model.model, model.base_url, candidate.secret)
        try:
            await models.adapters.warm(*address, settings)
        except Exception as error:
            # Whatever an SDK or a plug-in raises, another model may do.
            log.warning("%s cannot be used: %s", model.provider, type(error).__name__)
            continue
        async with models.adapters.lease(*address, settings) as adapter:
            if adapter.continues:
                continue
            with request_span(model.provider, model.model, {"oshaberi.purpose": purpose}):
                return await (ask or ask_aside)(adapter, candidate, request, quota, patience_s)
    return ""


async def ask_aside(
    adapter: ConnectedAdapter,
    candidate: ModelCandidate,
    request: Request,
    quota: RequestQuota,
    patience_s: float,
) -> str:
    """Return the model's text without its thoughts; empty if it failed or a quota is used up."""
    answer = await whole_answer(adapter, candidate, request, quota, patience_s)
    engine = TextEngine(TextConfig(humanizer_degree=0))
    events = [*engine.feed(answer), *engine.finish()]
    return "\n".join(event.text for event in events if isinstance(event, Message)).strip()


async def whole_answer(
    adapter: ConnectedAdapter,
    candidate: ModelCandidate,
    request: Request,
    quota: RequestQuota,
    patience_s: float,
) -> str:
    """Return what the model wrote, as it is; empty if it failed or a quota is used up."""
    reserved = await quota.reserve(candidate, request_tokens(request))
    if not isinstance(reserved, Reservation):
        return ""
    pieces, length, usage = list[str](), 0, None
    stream: Any = adapter.open(request)
    try:
        async with asyncio.timeout(patience_s), aclosing(stream):
            async for raw in stream:
                chunk = adapter.normalise(raw)
                if chunk is not None and chunk.error is not None:
                    log.info("a request besides an answer failed: %s", chunk.error.type)
                    return ""
                if chunk is not None:
                    pieces.append(chunk.content)
                    length += len(chunk.content)
                    usage = chunk.usage or usage
                if length > LONGEST_ANSWER:
                    break
    except Exception as error:
        # No answer depends on it.
        log.warning("a request besides an answer failed: %s", type(error).__name__)
        return ""
    finally:
        await quota.settle(reserved, usage or Usage(reserved.input_tokens, 0))
    return "".join(pieces)[:LONGEST_ANSWER]
