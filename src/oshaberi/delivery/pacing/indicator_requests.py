"""Asks the sink for the typing indicator. It blocks no message, and a failure is only noted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from oshaberi.delivery.sink import Sink

log = logging.getLogger(__name__)


async def ask_for_typing(sink: Sink, ms: int | None) -> None:
    try:
        await sink.typing(ms)
    except Exception as error:
        # A reader who sees no indicator still gets the message.
        log.debug("no typing indicator: %s", error)


async def ask_during(wait: Coroutine[Any, Any, None], sink: Sink, seconds: float) -> None:
    """Ask for it at the beginning of a wait of `seconds`. The request ends with the wait."""
    asking = asyncio.create_task(ask_for_typing(sink, round(seconds * 1000)))
    try:
        await wait
    finally:
        await end_asking(asking)


async def end_asking(asking: asyncio.Task[None] | None) -> None:
    if asking is not None and not asking.done():
        asking.cancel()
        await asyncio.wait({asking}, timeout=1)
