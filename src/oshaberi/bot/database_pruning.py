"""Deletes, from time to time, what is too old or too much in the database."""

from __future__ import annotations

import asyncio
import logging

from oshaberi.storage import Database, StorageError

log = logging.getLogger(__name__)

PRUNE_SECONDS = 60.0


async def prune_regularly(db: Database) -> None:
    """Prune again and again. Never returns by itself."""
    while True:
        await asyncio.sleep(PRUNE_SECONDS)
        try:
            await db.prune()
        except StorageError as error:
            log.warning("the database could not be tidied up: %s", error)
