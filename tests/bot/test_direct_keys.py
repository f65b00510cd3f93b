"""What older versions stored in direct messages: given to the one who alone could store it."""

from __future__ import annotations

import logging
from typing import Any

import discord
import pytest

from oshaberi.bot.storage import Database
from oshaberi.bot.storage.schema.table_rows import ApiKeyRow, ModelRow
from oshaberi.bot.wiring.client_wiring import adopt_direct_keys
from tests.bot.client_harness import ClientHarness, run_with_client


async def leave_unowned(db: Database) -> None:
    """As the migration leaves them."""
    store, vault = db.keys._store, db.keys._vault

    token = vault.encrypt("sk-direct")
    async with store.write() as session:
        session.add(ApiKeyRow(scope="direct", owner_id=0, provider="openai", token=token, label=""))
        session.add(
            ModelRow(
                scope="direct", owner_id=0, position=0, provider="openai", model="dear", params={}
            )
        )


def person(number: int) -> dict[str, Any]:
    return {"id": str(number), "username": f"p{number}", "discriminator": "0", "avatar": None}


def application(harness: ClientHarness, *members: int) -> discord.AppInfo:
    data: Any = {
        "id": "1",
        "name": "bot",
        "description": "",
        "icon": None,
        "rpc_origins": [],
        "summary": "",
        "verify_key": "",
        "flags": 0,
        "bot_public": True,
        "bot_require_code_grant": False,
        "owner": person(77),
    }
    if members:
        listed = [
            {"user": person(one), "membership_state": 2, "role": "admin", "permissions": ["*"]}
            for one in members
        ]
        data["team"] = {
            "id": "9",
            "name": "us",
            "icon": None,
            "owner_user_id": str(members[0]),
            "members": listed,
        }
    return discord.AppInfo(harness.client._connection, data)


@pytest.mark.parametrize(("members", "owner"), [((), 77), ((5,), 5)])
def test_the_sole_owner_gets_them(
    members: tuple[int, ...], owner: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "oshaberi.bot.wiring.client_wiring")

    async def scenario(harness: ClientHarness) -> None:
        await leave_unowned(harness.db)
        await adopt_direct_keys(harness.db, application(harness, *members))
        (key,) = await harness.db.keys.of(0, "openai", owner)
        assert key.secret == "sk-direct"
        assert [one.model for one in await harness.db.models.chain(0, owner)] == ["dear"]
        assert "serve only the direct messages of the bot's owner" in caplog.text
        caplog.clear()
        await adopt_direct_keys(harness.db, application(harness, *members))
        assert caplog.text == ""

    run_with_client(scenario)


def test_of_a_team_nobody_gets_them(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "oshaberi.bot.wiring.client_wiring")

    async def scenario(harness: ClientHarness) -> None:
        await leave_unowned(harness.db)
        await adopt_direct_keys(harness.db, application(harness, 5, 6))
        for user in (5, 6, 77):
            assert await harness.db.keys.of(0, "openai", user) == ()
            assert await harness.db.models.chain(0, user) == ()
        assert "whose they are is not known; set them anew" in caplog.text

    run_with_client(scenario)
