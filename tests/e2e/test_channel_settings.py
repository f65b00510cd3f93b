"""A thread, a channel, a category and the server: whose settings, persona and model apply."""

from __future__ import annotations

from discord_stage.model_servers import OpenAIWire
from discord_stage.world_changes import channel_changes, member_changes
from tests.bot.client_harness import ADMIN, MEMBER, MODERATOR, OWNER, world
from tests.e2e.bot_harness import MENTION, BotHarness, run_with_bot, whys

PLACES = world(
    {"name": "games", "type": "category"},
    {"name": "chess", "category": "games", "threads": ["openings"]},
    {"name": "cards", "category": "games"},
    {"name": "cellar", "nsfw": True, "threads": ["below the cellar"]},
    "general",
)
RESTRICTED = (
    "the persona that would answer does so only in age-restricted channels "
    "(`/persona age-restrict`)"
)
TWO_LINES = "One line.\n\nAnother one."


def test_the_nearest_setting_decides_how_an_answer_is_written() -> None:
    async def scenario(here: BotHarness) -> None:
        for degree, place in ((1, None), (0, "chess")):
            given = {"key": "humanizer_degree", "value": str(degree)}
            await here.run("config set", given | ({"in": place} if place else {}), user=ADMIN)
        whole = ["One line.\n\nAnother one."]
        for channel, said in (
            ("general", ["One line.", "Another one."]),
            ("cards", ["One line.", "Another one."]),
            ("chess", whole),
            ("openings", whole),
        ):
            asked = here.ask("how?", channel=channel)
            ours = await here.says(*said, channel=channel)
            await whys(here, (asked, MENTION), *((one.id, MENTION) for one in ours))
        await here.run("config set", {"key": "humanizer_degree", "value": "0", "in": "games"})
        await here.run("config set", {"key": "humanizer_degree", "value": "1", "in": "openings"})
        here.ask("how?", channel="cards")
        await here.says("One line.", "Another one.", *whole, channel="cards")
        here.ask("how?", channel="openings")
        await here.says(*whole, "One line.", "Another one.", channel="openings")
        here.stage.people.dm("how?", user=MEMBER)
        await here.says(*whole, channel=f"@{MEMBER}")

    run_with_bot(scenario, *[TWO_LINES] * 7, described=PLACES, humanizer_degree=0)


def test_a_category_and_its_threads_have_another_persona() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Oshaberi", is_default=True)
        await here.persona("Mochi", prompt="You play games.", triggers=("mochi",))
        told = await here.run("persona default", {"name": "mochi", "in": "games"}, user=ADMIN)
        assert told == f"In <#{here.id_of('games')}> **Mochi** answers when no other is called."
        asked = here.ask("who are you?", channel="openings")
        (said,) = await here.says("I am Mochi.", channel="openings")
        await whys(here, (asked, MENTION), (said.id, MENTION))
        assert said.username == "Mochi"
        assert "You play games." in here.asked().text
        here.ask("and here?")
        (said,) = await here.says("Oshaberi.")
        assert said.author_id == here.stage.world.bot.id
        listed = await here.run("persona list")
        assert f"default in <#{here.id_of('games')}>" in listed
        await here.confirmed("persona delete", {"name": "Mochi"})
        here.ask("still there?", channel="chess")
        (said,) = await here.says("Oshaberi again.", channel="chess")
        assert said.author_id == here.stage.world.bot.id

    answers = ("I am Mochi.", "Oshaberi.", "Oshaberi again.")
    run_with_bot(scenario, *answers, described=PLACES, reply_mode="off")


def test_a_channel_has_a_model_of_its_own() -> None:
    async def scenario(here: BotHarness) -> None:
        given = {"provider": OpenAIWire().name, "model": "model-1", "in": "chess"}
        told = await here.run("model set", given)
        assert told == f"Answers in <#{here.id_of('chess')}> now come from **openai/model-1**."
        asked = here.ask("which?", channel="openings")
        (said,) = await here.says("The second.", channel="openings")
        await whys(here, (asked, MENTION), (said.id, MENTION))
        here.ask("which?")
        await here.says("The first.")
        shown = await here.run("model show", channel="openings")
        assert shown.startswith(f"Set for <#{here.id_of('chess')}>")
        assert "Set by whoever runs the bot" in await here.run("model show")
        await here.run("model reset", {"in": "chess"})
        here.ask("and now?", channel="openings")
        await here.says("The second.", "The first again.", channel="openings")

    run_with_bot(
        scenario,
        "The first.",
        "The first again.",
        scripts=[["The second."]],
        described=PLACES,
    )


def test_roles_say_who_is_answered_and_where() -> None:
    async def scenario(here: BotHarness) -> None:
        role_id = here.stage.world.role("mods").id
        asked = {"key": "allowed_roles", "value": f"<@&{role_id}>", "in": "chess"}
        assert f"is now <@&{role_id}> in <#" in await here.run("config set", asked)
        refused = here.ask("me?", channel="openings")
        answered = here.ask("me?", user=MODERATOR, channel="openings")
        (said,) = await here.says("You.", channel="openings")
        await whys(here, (answered, MENTION), (said.id, MENTION))
        unlisted = "the bot answers only certain users and roles (allowed_users, allowed_roles)"
        await whys(here, (refused, unlisted))
        here.ask("here?")
        await here.says("Everybody.")
        await here.run("config set", {"key": "blocked_roles", "value": f"<@&{role_id}>"})
        refused = here.ask("and now?", user=MODERATOR)
        here.ask("and now?")
        await here.says("Everybody.", "Not the mods.")
        why = await here.choose("Why this turn", refused)
        assert why == "Because a role of its author is blocked (blocked_roles)."

    run_with_bot(scenario, "You.", "Everybody.", "Not the mods.", described=PLACES)


def test_a_role_that_is_taken_away_and_given_back() -> None:
    async def scenario(here: BotHarness) -> None:
        role_id = here.stage.world.role("mods").id
        await here.run("config set", {"key": "allowed_roles", "value": f"<@&{role_id}>"})
        guild = here.stage.world.guilds[here.server_id]
        member = guild.members[here.stage.world.user(MODERATOR).id]
        before = here.ask("me?", user=MODERATOR)
        (first,) = await here.says("You.")
        member.roles.remove(role_id)
        member_changes.changed(here.stage.state, guild, member)
        without = here.ask("and now?", user=MODERATOR)
        await here.stage.settled()
        member.roles.append(role_id)
        member_changes.changed(here.stage.state, guild, member)
        after = here.ask("and again?", user=MODERATOR)
        first, second = await here.says("You.", "You again.")
        unlisted = "the bot answers only certain users and roles (allowed_users, allowed_roles)"
        answered = ((one, MENTION) for one in (before, first.id, after, second.id))
        await whys(here, (without, unlisted), *answered)

    run_with_bot(scenario, "You.", "You again.")


FORUM = world(
    {"name": "games", "type": "category"},
    {"name": "work", "type": "category"},
    {"name": "help", "type": "forum", "category": "games", "threads": ["a question"]},
    "general",
)


def test_a_post_of_a_forum_and_a_channel_that_moves_to_another_category() -> None:
    """A post inherits from its forum, then from the category where the forum is now."""

    async def scenario(here: BotHarness) -> None:
        place, lines = "a question", ["One line.", "Another one."]
        whole = ["\n\n".join(lines)]
        said: list[str] = []

        async def answers(expected: list[str], origin: str) -> None:
            asked = here.ask("how?", channel=place)
            said.extend(expected)
            ours = await here.says(*said, channel=place)
            new = ours[-len(expected) :]
            await whys(here, (asked, MENTION), *((one.id, MENTION) for one in new))
            shown = await here.run("config show", {"key": "humanizer_degree"}, channel=place)
            assert f"(from {origin})" in shown

        degree = {"key": "humanizer_degree"}
        await here.run("config set", degree | {"value": "0", "in": "help"})
        await answers(whole, f"the channel <#{here.id_of('help')}>")
        await here.run("config reset", degree | {"in": "help"})
        await here.run("config set", degree | {"value": "0", "in": "games"})
        await answers(whole, f"the category <#{here.id_of('games')}>")
        forum = here.stage.world.channel("help")
        forum.parent_id = here.id_of("work")
        channel_changes.channel_changed(here.stage.state, forum)
        await here.stage.settled()
        await answers(lines, "whoever runs the bot")

    run_with_bot(scenario, *[TWO_LINES] * 3, described=FORUM)


def test_a_persona_for_age_restricted_channels_is_silent_elsewhere() -> None:
    async def scenario(here: BotHarness) -> None:
        await here.persona("Tea", is_default=True)
        await here.persona("Vex", triggers=("vex",))
        await here.persona("Ren", triggers=("ren",))
        told = await here.run("persona age-restrict", {"name": "Vex"}, user=ADMIN)
        assert told == "**Vex** now answers only in channels that Discord marks as age-restricted."
        refused = here.post("hey vex")
        for channel, words in (("cellar", "Down here."), ("below the cellar", "Deeper.")):
            here.post("hey vex", channel=channel)
            (said,) = await here.says(words, channel=channel)
            assert said.username == "Vex"
        await whys(here, (refused, RESTRICTED))
        here.post("vex and ren?")
        (said,) = await here.says("Just me.")
        assert said.username == "Ren"
        await here.run("persona default", {"name": "Vex"})
        refused = here.ask("anybody?")
        here.ask("anybody?", channel="cellar")
        await here.says("Down here.", "I am.", channel="cellar")
        await whys(here, (refused, RESTRICTED))
        assert here.said() == ["Just me."]
        listed = await here.run("persona list")
        assert "only in age-restricted channels" in listed
        await here.run("persona age-restrict", {"name": "Vex", "restricted": False})
        here.ask("anybody?")
        await here.says("Just me.", "Everywhere.")

    answers = ("Down here.", "Deeper.", "Just me.", "I am.", "Everywhere.")
    run_with_bot(scenario, *answers, described=PLACES, reply_mode="off")


def test_in_direct_messages_such_a_persona_never_answers() -> None:
    async def scenario(here: BotHarness) -> None:
        asked = here.stage.people.dm("hello", user=OWNER)
        here.ask("hello", channel="cellar")
        await here.says("Only here.", channel="cellar")
        await whys(here, (asked.id, RESTRICTED))
        assert here.said(f"@{OWNER}") == []

    persona = {"name": "Vex", "age_restricted": True}
    run_with_bot(scenario, "Only here.", described=PLACES, persona=persona)
