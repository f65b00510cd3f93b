"""A thread, a channel, a category and the server: whose settings, persona and model apply."""

from __future__ import annotations

from oshaberi.stage.model_servers import OpenAIWire
from tests.bot.client_harness import ADMIN, MEMBER, MODERATOR, OWNER, world
from tests.e2e.bot_harness import MENTION, BotHarness, run_with_bot, whys

PLACES = world(
    {"name": "games", "type": "category"},
    {"name": "chess", "category": "games", "threads": ["openings"]},
    {"name": "cards", "category": "games"},
    {"name": "cellar", "nsfw": True, "threads": ["below the cellar"]},
    "general",
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
        why = await here.choose("Why this turn", refused)
        assert "allowed_users, allowed_roles" in why
        here.ask("here?")
        await here.says("Everybody.")
        await here.run("config set", {"key": "blocked_roles", "value": f"<@&{role_id}>"})
        refused = here.ask("and now?", user=MODERATOR)
        here.ask("and now?")
        await here.says("Everybody.", "Not the mods.")
        why = await here.choose("Why this turn", refused)
        assert why == "Because a role of its author is blocked (blocked_roles)."

    run_with_bot(scenario, "You.", "Everybody.", "Not the mods.", described=PLACES)


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
        why = await here.choose("Why this turn", refused)
        assert why.startswith(
            "Because the persona that would answer does so only in age-restricted"
        )
        here.post("vex and ren?")
        (said,) = await here.says("Just me.")
        assert said.username == "Ren"
        await here.run("persona default", {"name": "Vex"})
        refused = here.ask("anybody?")
        here.ask("anybody?", channel="cellar")
        await here.says("Down here.", "I am.", channel="cellar")
        assert "age-restricted" in await here.choose("Why this turn", refused)
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
        why = await here.choose("Why this turn", asked.id)
        assert "age-restricted" in why
        assert here.said(f"@{OWNER}") == []

    persona = {"name": "Vex", "age_restricted": True}
    run_with_bot(scenario, "Only here.", described=PLACES, persona=persona)
