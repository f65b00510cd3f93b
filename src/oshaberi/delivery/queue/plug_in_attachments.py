"""Turns a code block into the files of a plug-in, for example a diagram into its picture."""

from __future__ import annotations

import asyncio
import re

from oshaberi.delivery.delivery_plug_ins import DeliveryPlugIns, RenderedBlock
from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.sink import File

_BLOCK = re.compile(r"```([\w+#.-]+)[^\n]*\n(.*?)\n?```", re.DOTALL)


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
    return job.result() if await waits.until(job) else ()
