"""/memory: everybody sees and deletes their own; the server's needs Manage Server."""

from __future__ import annotations

from oshaberi.storage.stored_records import Exchange, Fact
from tests.bot.shows import ADMIN, MEMBER, MODERATOR, OWNER, Show, perform


async def _remember(show: Show, user: str | None, *texts: str) -> list[Fact]:
    who = None if user is None else show.stage.world.user(user).id
    return [await show.db.facts.add(Fact(show.server_id, text, who)) for text in texts]


def test_own_facts_are_listed_and_forgotten() -> None:
    async def act(show: Show) -> None:
        tea, cats = await _remember(show, MEMBER, "likes *tea*", "has cats")
        (foreign,) = await _remember(show, OWNER, "is tall")
        assert await show.run("memory list", user=MEMBER) == (
            f"{tea.id}. likes \\*tea\\*\n{cats.id}. has cats"
        )
        assert await show.choices("memory forget one", "fact", "cat", user=MEMBER) == [str(cats.id)]
        for number in (str(foreign.id), "tea", "9" * 40):
            told = await show.run("memory forget one", {"fact": number}, user=MEMBER)
            assert "no such fact" in told
        told = await show.run("memory forget one", {"fact": str(tea.id)}, user=MEMBER)
        assert told == "The fact is deleted."
        assert "cats" in await show.run("memory list", user=MEMBER)
        assert "is tall" in await show.run("memory list", user=OWNER)

    perform(act)


def test_forgetting_all_takes_what_was_said_lately_too() -> None:
    async def act(show: Show) -> None:
        await _remember(show, MEMBER, "likes tea", "has cats")
        who = show.stage.world.user(MEMBER).id
        for user_id in (who, 99):
            exchange = Exchange(show.id_of("general"), user_id, "hi", "hello")
            await show.db.memory.add(exchange, keep=10, days=1)
        told = await show.run("memory forget all", user=MEMBER)
        assert told == "Deleted: 2 facts and 1 exchanges."
        assert "Nothing is remembered about you" in await show.run("memory list", user=MEMBER)
        (left,) = await show.db.memory.recent(show.id_of("general"), 10)
        assert left.user_id == 99

    perform(act)


def test_what_the_server_remembers_needs_manage_server() -> None:
    async def act(show: Show) -> None:
        (rule,) = await _remember(show, None, "be kind")
        servers = {"whose": "server"}
        assert "be kind" in await show.run("memory list", servers, user=MEMBER)
        one = servers | {"fact": str(rule.id)}
        assert "Manage Server" in await show.run("memory forget one", one, user=MEMBER)
        assert "Manage Server" in await show.run("memory forget all", servers, user=MODERATOR)
        assert len(await show.db.facts.of(show.server_id, None)) == 1
        offered = await show.choices("memory forget one", "fact", options=servers, user=ADMIN)
        assert offered == [str(rule.id)]
        assert await show.run("memory forget one", one, user=ADMIN) == "The fact is deleted."
        assert await show.run("memory forget all", servers, user=ADMIN) == (
            "Deleted: 0 facts of this server."
        )

    perform(act)


def test_a_channel_is_forgotten_by_moderators() -> None:
    async def act(show: Show) -> None:
        exchange = Exchange(show.id_of("general"), 1, "hi", "hello")
        await show.db.memory.add(exchange, keep=10, days=1)
        assert "Manage Messages" in await show.run("memory forget channel", user=MEMBER)
        assert "1 exchanges" in await show.run("memory forget channel", user=MODERATOR)
        assert await show.db.memory.recent(show.id_of("general"), 10) == ()

    perform(act)
