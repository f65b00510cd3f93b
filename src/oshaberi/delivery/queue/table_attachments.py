"""Decides whether a table is sent as pictures, as aligned code or as a file, and makes them.

Code is for tables that cannot be drawn, a file for those that would take very many pictures or
messages.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.sink import File
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.events import Table
from oshaberi.render.render_result import Picture, RenderUnavailableError, TooManyPicturesError

log = logging.getLogger(__name__)

MOST_PICTURES = 6
MOST_CODE_MESSAGES = 10


class TableRenderer(Protocol):
    """Draws tables. `pictures` is called in a thread, `alt_text` for tables sent as a file."""

    def pictures(self, table: Table) -> list[Picture]: ...
    def alt_text(self, table: Table) -> str: ...
    def as_code(self, table: Table, max_length: int) -> list[str]: ...


class PackagedRenderer:
    """The renderer of this package, imported when the first table comes."""

    def pictures(self, table: Table) -> list[Picture]:
        from oshaberi.render import can_draw, render_table

        if not can_draw(table):
            return []
        return render_table(table, most_pictures=MOST_PICTURES)

    def alt_text(self, table: Table) -> str:
        from oshaberi.render import alt_text

        return alt_text(table)

    def as_code(self, table: Table, max_length: int) -> list[str]:
        from oshaberi.render import table_as_code

        return table_as_code(table, max_length)


async def table_files(
    table: Table,
    number: int,
    config: StreamConfig,
    renderer: TableRenderer,
    waits: InterruptibleWaits,
) -> tuple[File, ...]:
    """Return the table's pictures or its file; none if it is sent as code."""
    files: tuple[File, ...] = ()
    if config.render_tables:
        files = await _pictures(table, number, renderer, waits)
    if files or waits.halted or len(as_code(table, config, renderer)) <= MOST_CODE_MESSAGES:
        return files
    return (_file(table, number, renderer),)


def as_code(table: Table, config: StreamConfig, renderer: TableRenderer) -> list[str]:
    """Return the table as messages of aligned code."""
    return renderer.as_code(table, config.text.max_single_message_length)


async def _pictures(
    table: Table, number: int, renderer: TableRenderer, waits: InterruptibleWaits
) -> tuple[File, ...]:
    """Return the pictures of a table, or its file if there would be too many.

    Returns nothing if it could not be drawn, or a stop came.
    """
    loop = asyncio.get_running_loop()
    job = loop.run_in_executor(None, renderer.pictures, table)
    if not await waits.until(job):
        job.add_done_callback(_seen)
        return ()
    try:
        pictures = job.result()
        alt = renderer.alt_text(table) if pictures else ""
    except TooManyPicturesError:
        return (_file(table, number, renderer),)
    except RenderUnavailableError:
        return ()
    except Exception:
        log.exception("a table could not be drawn; it goes out as code")
        return ()
    return tuple(
        File(
            name=f"table-{number}{f'-{part}' if part > 1 else ''}.png",
            content=picture.png,
            source=table.source,
            alt=alt,
            width=picture.width,
            height=picture.height,
        )
        for part, picture in enumerate(pictures, start=1)
    )


def _file(table: Table, number: int, renderer: TableRenderer) -> File:
    """Return the table's Markdown as a file. Discord shows a preview of it."""
    content = f"{table.source}\n".encode("utf-8", "replace")
    alt = renderer.alt_text(table)
    return File(f"table-{number}.md", content, source=table.source, alt=alt)


def _seen(job: asyncio.Future[list[Picture]]) -> None:
    if not job.cancelled():
        job.exception()
