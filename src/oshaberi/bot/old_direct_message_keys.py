"""Gives the bot's owner the models and keys that older versions stored in direct messages.

Older versions did not store whose direct messages they were, and used the keys for everybody. If a
team owns the bot, the owner is unknown: the keys stay unused, and a line in the log says so.
"""

from __future__ import annotations

import logging

import discord

from oshaberi.storage import Database

log = logging.getLogger(__name__)


async def adopt_direct_keys(db: Database, application: discord.AppInfo | None) -> None:
    keys, models = await db.keys.unowned(), await db.models.unowned()
    if application is None or not keys + models:
        return
    owner_id = _sole_owner(application)
    if owner_id is None:
        log.warning(
            "API keys (%d) and models (%d) that were set in direct messages are not used any more: "
            "the bot has several owners, and whose they are is not known; set them anew",
            keys,
            models,
        )
        return
    await db.keys.adopt(owner_id)
    await db.models.adopt(owner_id)
    log.warning(
        "API keys (%d) and models (%d) that were set in direct messages served everybody; from now "
        "on they serve only the direct messages of the bot's owner. For everybody put them into "
        "`models` of the settings file",
        keys,
        models,
    )


def _sole_owner(application: discord.AppInfo) -> int | None:
    if application.team is None:
        return application.owner.id
    members = application.team.members
    return members[0].id if len(members) == 1 else None
