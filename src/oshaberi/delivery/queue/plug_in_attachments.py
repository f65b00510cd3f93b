"""Turns a code block into the files of a plug-in, for example a diagram into its picture."""

from __future__ import annotations

import asyncio
import logging
import re

from oshaberi.delivery.delivery_plug_ins import ATTACHMENT_GROUP, DeliveryPlugIns, RenderedBlock
from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.sink import File
from oshaberi.plug_in_loading import plug_in_error

log = logging.getLogger(__name__)

LONGEST_S = 30.0
"""How long a plug-in may take, in seconds. Then the block stays code, and the answer goes on."""
_BLOCK = re.compile(r"```([\w+#.-]++)[^\n]*+\n(.*?)\n?```", re.DOTALL)


def rendered_block(text: str, plug_ins: DeliveryPlugIns) -> RenderedBlock | None:
    """Return the block that the message consists of, if there is a renderer for it."""
    if not plug_ins.attachments or not text.startswith("```"):
        return None
    found = _BLOCK.fullmatch(text)
    if found is None or found[1].lower() not in plug_ins.attachments:
        return None
    return RenderedBlock(found[1].lower(), found[2])


async def block_files(
    block: RenderedBlock, plug_ins: DeliveryPlugIns, waits: InterruptibleWaits
) -> tuple[File, ...]:
    """Return the block's files; nothing if it stays code, or a stop came."""
    loop = asyncio.get_running_loop()
    job = loop.run_in_executor(None, plug_ins.files, block.language, block.code)
    limit = loop.call_later(LONGEST_S, job.cancel)
    try:
        done = await waits.until(job)
    finally:
        limit.cancel()
    if job.cancelled():
        late = TimeoutError(f"it took more than {LONGEST_S:g} s")
        log.error("%s", plug_in_error(ATTACHMENT_GROUP, block.language, late))
        return ()
    return job.result() if done else ()
