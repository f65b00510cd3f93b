"""Nobody sees or does through the bot what they could not see or do in the channel themselves."""

from __future__ import annotations

from typing import Any

from discord_stage.model_servers.scripts import Call, NoAnswer, Say
from discord_stage.world.permissions import Permission
from discord_stage.world.records import Overwrite
from oshaberi.bot.storage.records import PersonaRecord
from tests.bot.client_harness import ADMIN, MEMBER, OWNER, ClientHarness, run_with_client, world
from tests.e2e.bot_harness import BotHarness, run_with_bot
from tests.e2e.test_tools import call, results

SECRET = "the vault opens with 4711"
HIDDEN = {
    "name": "owners-only-plans",
    "overwrites": [{"role": "@everyone", "deny": ["view_channel"]}],
}
PRIVATE = world("general", HIDDEN)
NO_HISTORY = world(
    {
        "name": "general",
        "overwrites": [{"member": MEMBER, "deny": ["read_message_history", "add_reactions"]}],
    }
)


def with_another_server() -> dict[str, object]:
    guilds = world()["guilds"]
    assert isinstance(guilds, list)
    return {"guilds": [*guilds, {"name": "Other", "members": [OWNER], "channels": ["theirs"]}]}


def written(here: BotHarness) -> str:
    return "\n".join(m.content for m in here.ours())


async def calling(here: BotHarness, step: Call, text: str, **how: Any) -> str:
    """Somebody asks, the model calls a tool: what the tool answered."""
    before = len(here.model.requests)
    here.model.play(step)
    here.model.play(Say("Hm."))
    here.post(text, **how)
    await here.asked_times(before + 2)
    await here.idle()
    return "\n".join(results(here))


def mention(here: BotHarness) -> str:
    return f"<@{here.stage.world.bot.id}>"


def test_a_reply_quotes_no_message_of_another_room() -> None:
    """Another channel, another server, a direct message: all of them are in discord.py's cache."""

    async def scenario(here: BotHarness) -> None:
        people = here.stage.people
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Mochi", triggers=("mochi",))
        posted = [
            people.post("logs", SECRET, user=OWNER).id,
            people.post("theirs", SECRET, user=OWNER).id,
            people.dm(SECRET, user=OWNER).id,
        ]
        await here.asked_times(1)
        await here.idle()
        for number in posted:
            step = call("reply_to_message", text="look", message_id=str(number))
            result = await calling(here, step, "mochi, look")
            assert f"there is no message {number} in this channel" in result
            assert SECRET not in written(here)

    run_with_bot(scenario, "Hello.", described=with_another_server())


def test_a_reaction_does_not_tell_what_is_in_another_room() -> None:
    async def scenario(here: BotHarness) -> None:
        elsewhere = here.stage.people.post("logs", SECRET, user=OWNER)
        await here.stage.settled()
        step = call("react", emoji="👍", message_id=str(elsewhere.id))
        result = await calling(here, step, f"{mention(here)} react")
        assert f"there is no message {elsewhere.id} in this channel" in result
        assert here.reactions(elsewhere.id, "logs") == []

    run_with_bot(scenario)


def test_the_name_of_a_hidden_channel_is_hidden() -> None:
    """A member who guesses an id learns nothing; who may see the channel reads its name."""

    async def scenario(here: BotHarness) -> None:
        number = here.id_of("owners-only-plans")
        here.ask(f"what is <#{number}>?", user=MEMBER)
        await here.says("One.")
        assert "owners-only-plans" not in here.asked().text
        here.ask(f"and <#{number}>?", user=OWNER)
        await here.says("One.", "Two.")
        assert "#owners-only-plans" in here.asked().text
        here.ask(f"where is <#{here.id_of('general')}>?", user=MEMBER)
        await here.says("One.", "Two.", "Three.")
        assert "owners-only-plans" not in here.asked().text
        assert "#general" in here.asked().text

    run_with_bot(scenario, "One.", "Two.", "Three.", described=PRIVATE)


def test_who_may_not_read_the_history_does_not_read_it_through_the_bot() -> None:
    async def scenario(here: BotHarness) -> None:
        old = here.post(SECRET, user=OWNER)
        here.ask(f"remember: {SECRET}", user=OWNER)
        await here.says("Told the owner.")
        question = f"{mention(here)} what was said before?"
        for step in (
            call("recent_messages"),
            call("list_memories"),
            call("reply_to_message", text="look", message_id=str(old)),
            call("react", emoji="👍", message_id=str(old)),
            call("react", emoji="👍"),
        ):
            result = await calling(here, step, question, user=MEMBER)
            assert "4711" not in here.asked().text, step
            assert "Told the owner" not in here.asked().text, step
            assert "4711" not in result, step
        reacted = [m for m in here.stage.world.history("general") if m.reactions]
        assert reacted == []
        assert "Hm." in here.asked().text, "what was answered to themselves they have seen"
        assert "4711" in await calling(here, call("recent_messages"), question, user=OWNER)

    run_with_bot(scenario, "Told the owner.", described=NO_HISTORY)


def test_what_personas_keep_belongs_to_the_person_who_began_it() -> None:
    """One persona calls another in a direct message; nobody else's turn knows of it."""

    async def scenario(here: BotHarness) -> None:
        await here.db.personas.save(PersonaRecord(0, "Oshaberi", is_default=True))
        await here.db.personas.save(PersonaRecord(0, "Mochi", triggers=("mochi",)))
        for step in (Say("mochi, keep it"), call("remember", fact=SECRET), Say("Kept.")):
            here.model.play(step)
        here.stage.people.dm("keep a secret", user=OWNER)
        await here.asked_times(3)
        await here.idle()
        assert results(here) == ["Remembered as #1."]
        owner = here.stage.world.user(OWNER).id
        for step in (Say("mochi, what is it?"), call("list_memories"), Say("Nothing.")):
            here.model.play(step)
        here.stage.people.dm("what do you know?", user=MEMBER)
        await here.asked_times(6)
        await here.idle()
        assert "4711" not in results(here)[0]
        assert [fact.text for fact in await here.db.facts.of(0, owner)] == [SECRET]

    run_with_bot(scenario, self_trigger_limit=2)


def test_a_moderator_who_continues_an_answer_lends_it_no_rights() -> None:
    """Whose question is gone, and whose words the model still reads."""

    async def scenario(here: BotHarness) -> None:
        asked = here.ask("keep for the server: everybody pays me", user=MEMBER)
        await here.says("Well")
        here.stage.people.delete(asked)
        here.model.play(call("remember", fact="everybody pays Ren", about="server"))
        here.model.play(Say("No."))
        await here.run("continue", user=OWNER)
        await here.asked_times(3)
        await here.idle()
        assert "manage the server" in results(here)[0]
        assert await here.db.facts.of(here.server_id, None) == ()

    run_with_bot(scenario, "Well")


def test_who_may_not_write_here_has_nothing_written_by_command() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hi", user=MEMBER)
        await here.says("One.")
        who = here.stage.world.user(MEMBER).id
        muted = Overwrite(who, True, 0, int(Permission.SEND_MESSAGES))
        here.stage.world.channel("general").overwrites[who] = muted
        for command in ("regenerate", "continue"):
            assert "may not write here" in await here.run(command, user=MEMBER)
        assert here.said() == ["One."]

    run_with_bot(scenario, "One.", "Two.")


def test_the_settings_of_all_direct_messages_are_the_owners_business() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await harness.db.usage.add(0, "openai", "gpt-x", 1200, 34)
        for who in (MEMBER, OWNER):
            harness.stage.people.dm("hi", user=who)
        await harness.heard(2)
        theirs, owners = f"@{MEMBER}", f"@{OWNER}"
        refused = "In direct messages only the bot's owner can see this."
        assert await harness.run("config show", user=MEMBER, channel=theirs) == refused
        key = {"key": "allowed_users"}
        assert await harness.run("config show", key, user=MEMBER, channel=theirs) == refused
        assert "Used here" not in await harness.run("status", user=MEMBER, channel=theirs)
        assert "humanizer_degree" in await harness.run("config show", channel=owners)
        assert "Used here" in await harness.run("status", channel=owners)

    run_with_client(scenario)


def test_a_status_counts_what_is_under_way_in_this_server_alone() -> None:
    async def scenario(here: BotHarness) -> None:
        here.model.play(NoAnswer())
        here.ask("hi", user=OWNER, channel="theirs")
        await here.asked_times(1)
        assert "0 answers under way" in await here.run("status", user=MEMBER)
        assert "1 answer under way" in await here.run("status", user=OWNER)
        await here.run("stop", user=OWNER, channel="theirs")
        await here.idle()

    run_with_bot(scenario, described=with_another_server())


def test_thoughts_are_logged_only_where_the_admin_may_write() -> None:
    async def scenario(harness: ClientHarness) -> None:
        number = harness.id_of("owners-only-plans")
        given = {"key": "thought_log_channel_id", "value": str(number)}
        assert "is not a channel of this server" in await harness.run(
            "config set", given, user=ADMIN
        )
        assert "is now" in await harness.run("config set", given, user=OWNER)

    run_with_client(scenario, PRIVATE)
