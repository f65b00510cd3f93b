"""Forms ask again who may do it, when they are sent."""

from __future__ import annotations

import pytest

from tests.bot.client_harness import ADMIN, ClientHarness, run_with_client

KEY = {"key": "sk-0123456789-abcdefgh-WXYZ", "label": ""}
PERSONA = {"prompt": "You love tea.", "aliases": "", "triggers": ""}


@pytest.mark.parametrize(
    ("command", "options", "values"),
    [
        ("model key add", {"provider": "openai"}, KEY),
        ("persona create", {"name": "Mochi"}, PERSONA),
        ("persona edit", {"name": "Oshaberi"}, PERSONA),
    ],
)
def test_who_lost_the_permission_meanwhile_is_refused(
    command: str, options: dict[str, str], values: dict[str, str]
) -> None:
    async def scenario(harness: ClientHarness) -> None:
        people, world = harness.stage.people, harness.stage.world
        asked = people.run(command, options, user=ADMIN, channel="general")
        await harness.stage.wait_for(lambda: asked.modal)
        world.guilds[harness.server_id].members[world.user(ADMIN).id].roles.clear()
        told = await harness.private(people.submit(asked, values))
        assert told == "Only members with the permission Manage Server can change this."
        assert await harness.db.keys.of(harness.server_id, "openai") == ()
        assert await harness.db.personas.of(harness.server_id) == ()

    run_with_client(scenario)
