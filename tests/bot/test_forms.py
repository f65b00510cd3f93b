"""Forms ask again who may do it, when they are sent."""

from __future__ import annotations

import pytest

from tests.bot.shows import ADMIN, Show, perform

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
    async def act(show: Show) -> None:
        people, world = show.stage.people, show.stage.world
        asked = people.run(command, options, user=ADMIN, channel="general")
        await show.stage.wait_for(lambda: asked.modal)
        world.guilds[show.server_id].members[world.user(ADMIN).id].roles.clear()
        told = await show.private(people.submit(asked, values))
        assert told == "Only members with the permission Manage Server can change this."
        assert await show.db.keys.of(show.server_id, "openai") == ()
        assert await show.db.personas.of(show.server_id) == ()

    perform(act)
