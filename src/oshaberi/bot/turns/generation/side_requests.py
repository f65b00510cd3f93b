"""Small requests besides an answer: a summary, a thread's name. They count towards the quotas."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
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


async def ask_aside(
    adapter: ConnectedAdapter,
    candidate: ModelCandidate,
    request: Request,
    quota: RequestQuota,
    patience_s: float,
) -> str:
    """Return the model's text without its thoughts; empty if it failed or a quota is used up."""
    reserved = await quota.reserve(candidate, request_tokens(request))
    if not isinstance(reserved, Reservation):
        return ""
    engine, events, usage = TextEngine(TextConfig(humanizer_degree=0)), [], None
    stream: Any = adapter.open(request)
    try:
        async with asyncio.timeout(patience_s), aclosing(stream):
            async for raw in stream:
                chunk = adapter.normalise(raw)
                if chunk is not None and chunk.error is not None:
                    log.info("a request besides an answer failed: %s", chunk.error.type)
                    return ""
                if chunk is not None:
                    events += engine.feed(chunk.content)
                    usage = chunk.usage or usage
        events += engine.finish()
    except Exception as error:
        # No answer depends on it.
        log.warning("a request besides an answer failed: %s", type(error).__name__)
        return ""
    finally:
        await quota.settle(reserved, usage or Usage(reserved.input_tokens, 0))
    return "\n".join(event.text for event in events if isinstance(event, Message)).strip()


async def ask_first_usable(
    models: ModelAccess,
    candidates: Sequence[ModelCandidate],
    request: Request,
    quota: RequestQuota,
    patience_s: float,
    attributes: Mapping[str, str],
) -> str:
    """Return what the first usable model says; empty if none does. `attributes` are for traces."""
    for candidate in candidates:
        model = candidate.model
        if candidate.lacks_key or not await models.may_ask(model):
            continue
        settings = {**options_of(model.params).endpoint_settings(), **candidate.settings}
        address = (model.provider, model.model, model.base_url, candidate.secret)
        async with models.adapters.lease(*address, settings) as adapter:
            if not adapter.continues:
                with request_span(model.provider, model.model, attributes):
                    return await ask_aside(adapter, candidate, request, quota, patience_s)
    return ""
