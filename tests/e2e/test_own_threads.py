"""`/new`, threads for single conversations, branches of them, and who may do what."""

from __future__ import annotations

import asyncio

import pytest

from discord_stage.model_servers.scripts import Refuse, Stall
from discord_stage.rest.routes.thread_routes import new_thread
from discord_stage.world.ids import now_iso
from discord_stage.world.records import Channel, ChannelType, MessageType
from oshaberi.bot.storage.records import OwnThread, TalkStart
from oshaberi.bot.turns.own_threads import name_of_model, name_of_question
from tests.bot.client_harness import ADMIN, MEMBER, MODERATOR, OWNER, world
from tests.e2e.bot_harness import PATIENCE_S, BotHarness, run_lives, run_with_bot

SECOND = "sora"
MAY = ["create_public_threads", "send_messages_in_threads", "create_private_threads"]
PLACES = world(
    "general",
    {"name": "help", "type": "forum"},
    {
        "name": "closed",
        "overwrites": [{"role": "@everyone", "deny": ["view_channel"]}],
    },
)


async def everywhere(here: BotHarness, **settings: object) -> None:
    for key, value in settings.items():
        told = await here.run("config set", {"key": key, "value": str(value)}, user=ADMIN)
        assert "is now" in told, told


def threads(here: BotHarness) -> list[Channel]:
    found = [one for one in here.stage.world.channels.values() if one.thread is not None]
    return sorted(found, key=lambda one: one.id)


def members_of(thread: Channel) -> set[int]:
    assert thread.thread is not None
    return set(thread.thread.members)


async def answered(here: BotHarness, text: str, thread: Channel) -> None:
    await here.wait_for(lambda: text in here.said(thread.id))
    await here.idle()


# -- /new ----------------------------------------------------------------------------------------


def test_nothing_before_new_is_read_and_a_restart_does_not_change_that() -> None:
    async def before(here: BotHarness) -> None:
        here.post("My cat is called Momo.")
        here.ask("Do you like cats?")
        await here.says("I do.")
        assert "Momo" in here.asked().text
        told = await here.run("new", user=MODERATOR)
        assert told.startswith("From here on I read nothing that was said before.")
        here.ask("What is my cat called?")
        await here.says("I do.", "Who knows.")
        assert "Momo" not in here.asked().text
        assert "like cats" not in here.asked().text
        assert here.stage.world.contents("general")[0] == "My cat is called Momo."

    async def after(here: BotHarness) -> None:
        here.ask("And my dog?")
        await here.says("I do.", "Who knows.", "No idea.")
        assert "Momo" not in here.asked().text
        assert "like cats" not in here.asked().text, "nor from short-term memory"
        assert "Who knows." in here.asked().text, "what was said since is"

    run_lives([before, after], "I do.", "Who knows.", "No idea.")


def test_summaries_from_before_new_are_not_read() -> None:
    async def scenario(here: BotHarness) -> None:
        from oshaberi.bot.storage.records import ConversationSummary
        from oshaberi.clocks import utc_now

        first = here.post("Momo is a cat.")
        last = here.post("She is old.")
        made = ConversationSummary(
            here.id_of("general"), "Momo is an old cat.", first, last, 2, frozenset(), utc_now()
        )
        await here.db.summaries.keep(made, days=9)
        here.ask("Who?")
        await here.says("Momo.")
        assert "an old cat" in here.asked().text
        await here.run("new", user=MODERATOR)
        here.ask("Who is it?")
        await here.says("Momo.", "Nobody.")
        assert "an old cat" not in here.asked().text

    run_with_bot(scenario, "Momo.", "Nobody.")


def test_not_everybody_may_begin_afresh_in_a_busy_channel() -> None:
    async def scenario(here: BotHarness) -> None:
        assert "only members with Manage Messages" in await here.run("new", user=MEMBER)
        here.stage.people.dm("hello", user=MEMBER)
        await here.asked_times(1)
        await here.idle()

    run_with_bot(scenario, "Hello.")


def test_an_answer_from_before_is_neither_continued_nor_written_again() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello?")
        await here.says("Hello.")
        await here.run("new", user=MODERATOR)
        told = "I do not remember an answer of mine in this channel."
        assert await here.run("continue", user=MEMBER) == told
        assert await here.run("regenerate", user=MEMBER) == told
        await here.says("Hello.")

    run_with_bot(scenario, "Hello.")


# -- threads -------------------------------------------------------------------------------------


def test_every_question_gets_a_thread_that_the_model_names() -> None:
    async def scenario(here: BotHarness) -> None:
        await everywhere(here, own_threads="always")
        asked = here.ask("how do I brew green tea?")
        await here.wait_for(lambda: threads(here))
        (thread,) = threads(here)
        assert thread.id == asked
        await answered(here, "With cooler water.", thread)
        await here.wait_for(lambda: thread.name == "Brewing green tea")
        assert "how do I brew green tea?" in here.asked(0).text
        assert here.said() == [], "the answer is in the thread"
        assert here.stage.world.user(MEMBER).id in members_of(thread)
        here.post("how hot?", channel=thread.id)
        await answered(here, "Seventy degrees.", thread)
        last = here.asked()
        assert last.text.count("how do I brew green tea?") == 1
        assert "With cooler water." in last.text
        await here.asked_times(3)
        assert thread.name == "Brewing green tea", "it is named once"
        here.post("nobody asked", channel="general")
        await here.idle()
        assert len(threads(here)) == 1

    run_with_bot(scenario, "With cooler water.", '"Brewing green tea."\nor not', "Seventy degrees.")


def test_a_thread_that_somebody_renamed_keeps_its_name() -> None:
    async def scenario(here: BotHarness) -> None:
        await everywhere(here, own_threads="always")
        here.ask("how do I brew green tea?")
        await here.wait_for(lambda: threads(here))
        (thread,) = threads(here)
        thread.name = "Mine"
        from discord_stage.world_changes import channel_changes

        channel_changes.channel_changed(here.stage.state, thread)
        await answered(here, "With cooler water.", thread)
        await here.asked_times(2)
        await here.idle()
        assert thread.name == "Mine"

    run_with_bot(scenario, "With cooler water.", "Brewing green tea")


def test_a_model_that_fails_leaves_the_questions_words() -> None:
    async def scenario(here: BotHarness) -> None:
        await everywhere(here, own_threads="always")
        here.ask("how do I brew green tea?")
        await here.wait_for(lambda: threads(here))
        (thread,) = threads(here)
        await answered(here, "With cooler water.", thread)
        await here.asked_times(2)
        await here.idle()
        assert thread.name == "how do I brew green tea?"

    run_with_bot(scenario, "With cooler water.", Refuse("model_error"))


def test_no_more_threads_than_allowed_then_the_answer_stays_in_the_channel() -> None:
    async def scenario(here: BotHarness) -> None:
        await everywhere(
            here, own_threads="always", own_threads_per_hour=2, thread_names="question"
        )
        here.ask("one?")
        await here.wait_for(lambda: len(threads(here)) == 1)
        here.ask("one more?")
        await here.wait_for(lambda: len(threads(here)) == 2)
        await here.idle()
        here.ask("a third?")
        await here.says("Yes.")
        assert len(threads(here)) == 2
        here.ask("and mine?", user=OWNER)
        await here.wait_for(lambda: len(threads(here)) == 3)
        await here.idle()
        told = await here.run("talk", user=MEMBER)
        assert "as I may within an hour (own_threads_per_hour)" in told

    run_with_bot(scenario, *["Yes."] * 4)


def test_many_at_once_are_no_more_than_allowed() -> None:
    async def scenario(here: BotHarness) -> None:
        await everywhere(
            here, own_threads="always", own_threads_per_hour=2, thread_names="question"
        )
        people = here.stage.people
        asked = [people.run("talk", {}, user=MEMBER, channel="general") for _ in range(6)]
        for number in range(3):
            here.ask("me too?", channel=("general", "logs", "lounge")[number])
        told = [await here.private(one) for one in asked]
        await here.idle()
        assert len(threads(here)) == 2
        assert sum("Here it is" in one for one in told) <= 2

    places = world("general", "logs", "lounge")
    run_with_bot(scenario, *["Yes."] * 4, described=places)


def test_without_the_permission_the_answer_stays_in_the_channel() -> None:
    described = world(
        {
            "name": "general",
            "overwrites": [{"member": "Oshaberi", "deny": ["create_public_threads"]}],
        }
    )

    async def scenario(here: BotHarness) -> None:
        await everywhere(here, own_threads="always")
        here.ask("hello?")
        await here.says("Hello.")
        assert threads(here) == []

    run_with_bot(scenario, "Hello.", described=described)


def test_an_answer_in_its_thread_goes_on_after_a_restart() -> None:
    async def before(here: BotHarness) -> None:
        await everywhere(here, own_threads="always", thread_names="question")
        here.ask("tell me a story")
        await here.wait_for(lambda: threads(here))
        await here.asked_times(1)

    async def after(here: BotHarness) -> None:
        (thread,) = threads(here)
        await answered(here, "Once upon a time.", thread)
        assert here.said() == []
        assert here.said(thread.id) == ["Once upon a time."]
        assert here.asked().text.count("@Oshaberi tell me a story") == 1

    async def and_again(here: BotHarness) -> None:
        await here.idle()
        (thread,) = threads(here)
        assert here.said(thread.id) == ["Once upon a time."], "it is not answered twice"
        assert here.said() == []

    run_lives([before, after, and_again], Stall(), "Once upon a time.", "Twice.")


def test_a_post_in_a_forum_is_a_conversation() -> None:
    async def scenario(here: BotHarness) -> None:
        from discord_stage.control.api import start_thread

        forum, member = here.stage.world.channel("help"), here.stage.world.user(MEMBER)
        quiet = start_thread(here.stage.state, forum, member.id, "Before", "Is it quiet?")
        await here.idle()
        await everywhere(here, own_threads="always", thread_names="question")
        post = start_thread(here.stage.state, forum, member.id, "Tea", "Which tea is best?")
        await answered(here, "Sencha.", post)
        assert "#Tea" in here.asked().text
        here.post("and cheap?", channel=post.id)
        await answered(here, "Bancha.", post)
        assert here.said(quiet.id) == []
        assert len(threads(here)) == 2
        assert post.name == "Tea"

    run_with_bot(scenario, "Sencha.", "Bancha.", described=PLACES)


def test_off_means_off() -> None:
    async def scenario(here: BotHarness) -> None:
        for command in ("talk", "branch"):
            assert (await here.run(command, user=OWNER)).startswith("I open no threads here.")
        here.ask("hello?")
        await here.says("Hello.")
        assert threads(here) == []

    run_with_bot(scenario, "Hello.")


def test_a_thread_on_request() -> None:
    async def scenario(here: BotHarness) -> None:
        await everywhere(here, own_threads="request", thread_names="question")
        here.ask("hello?")
        await here.says("Hello.")
        told = await here.run("talk", {"topic": "Of cats"}, user=MEMBER)
        (thread,) = threads(here)
        assert told == f"Here it is: <#{thread.id}>"
        assert (thread.name, thread.type) == ("Of cats", ChannelType.PUBLIC_THREAD)
        here.post("do they purr?", channel=thread.id)
        await answered(here, "They do.", thread)
        assert "hello?" not in here.asked().text
        await here.run("new", user=MEMBER, channel=thread.id)
        here.post("really?", channel=thread.id)
        await answered(here, "Yes.", thread)
        assert "purr" not in here.asked().text

    run_with_bot(scenario, "Hello.", "They do.", "Yes.")


# -- branches ------------------------------------------------------------------------------------


def test_a_branch_begins_with_the_talk_up_to_a_message() -> None:
    async def before(here: BotHarness) -> None:
        await everywhere(here, own_threads="request", thread_names="question")
        here.post("Momo is my cat.")
        here.ask("What do cats eat?")
        (fish,) = await here.says("Fish.")
        later = here.post("Forget it, she is a dog.")
        message = here.stage.world.messages[here.id_of("general")][fish.id]
        asked = here.stage.people.choose("More", fish.id, user=MEMBER)
        await here.wait_for(lambda: here._reply(asked) is not None)
        menu = here._reply(asked)
        assert menu is not None
        pressed = here.stage.people.press(menu, "Branch", user=MEMBER)
        told = await here.private(pressed)
        (thread,) = threads(here)
        assert told.startswith(f"Here it is: <#{thread.id}>. It goes on from https://")
        assert thread.name == "Fish"
        here.post("every day?", channel=thread.id)
        await answered(here, "Not every day.", thread)
        text = here.asked().text
        assert "Momo is my cat." in text
        assert "Fish." in text
        assert "dog" not in text
        assert later > message.id

    async def after(here: BotHarness) -> None:
        (thread,) = threads(here)
        here.post("who is she?", channel=thread.id)
        await answered(here, "Momo.", thread)
        assert "Momo is my cat." in here.asked().text
        told = await here.run("branch", user=MEMBER, channel=thread.id)
        second = threads(here)[-1]
        assert f"<#{second.id}>" in told
        assert second.parent_id == thread.parent_id
        here.post("sure?", channel=second.id)
        await answered(here, "Quite.", second)
        assert "Momo is my cat." in here.asked().text, "a branch of a branch"
        here.stage.people.delete(next(iter(here.stage.world.messages[here.id_of("general")])))
        await here.run("new", user=MEMBER, channel=second.id)
        here.post("and now?", channel=second.id)
        await answered(here, "Now what?", second)
        assert "Fish." not in here.asked().text

    run_lives([before, after], "Fish.", "Not every day.", "Momo.", "Quite.", "Now what?")


def test_a_branch_is_no_way_into_other_rooms() -> None:
    async def scenario(here: BotHarness) -> None:
        await everywhere(here, own_threads="request", thread_names="question")
        secret = here.post("the code is 1234", channel="closed", user=OWNER)
        closed = here.id_of("closed")
        link = f"https://discord.com/channels/{here.server_id}/{closed}/{secret}"
        for written in (link, str(secret), "nonsense", "9" * 20):
            told = await here.run("branch", {"message": written}, user=MEMBER)
            assert told == "I cannot find that message in this channel."
        assert threads(here) == []
        # A forged row changes nothing: the place has to lie beside the thread.
        await here.run("talk", {"topic": "side"}, user=MEMBER)
        (thread,) = threads(here)
        await here.db.talks.forget_channels((thread.id,))
        known = OwnThread(thread.id, here.server_id, 1, "side", is_named=True)
        await here.db.talks.open(known, TalkStart(0, closed, 0, secret))
        here.post("what is the code?", channel=thread.id)
        await answered(here, "No idea.", thread)
        assert "1234" not in here.asked().text

    run_with_bot(scenario, "No idea.", described=PLACES)


def test_a_private_thread_has_no_open_branch() -> None:
    async def scenario(here: BotHarness) -> None:
        await everywhere(here, own_threads="request", thread_names="question")
        state, parent = here.stage.state, here.stage.world.channel("general")
        ours, theirs = here.stage.world.bot.id, here.stage.world.user(MEMBER).id
        private = new_thread(state, parent, "whispers", theirs, kind=ChannelType.PRIVATE_THREAD)
        assert private.thread is not None
        private.thread.members[ours] = now_iso()
        await here.wait_for(lambda: here.bot.client.get_channel(private.id))
        here.post("psst", channel=private.id)
        told = await here.run("branch", user=MEMBER, channel=private.id)
        assert told == "This thread is private: a branch of it would be open to everybody."

    run_with_bot(scenario, "Psst.")


def test_who_may_not_open_threads_gets_none() -> None:
    described = world(
        {
            "name": "general",
            "overwrites": [{"role": "@everyone", "deny": ["create_public_threads"]}],
        }
    )

    async def scenario(here: BotHarness) -> None:
        await everywhere(here, own_threads="request")
        told = await here.run("talk", user=MEMBER)
        assert told.startswith("You need the permissions Create Public Threads")
        assert threads(here) == []

    run_with_bot(scenario, described=described)


def test_a_deleted_message_leaves_the_branches_summary_too() -> None:
    async def scenario(here: BotHarness) -> None:
        from oshaberi.bot.storage.records import ConversationSummary
        from oshaberi.clocks import utc_now

        await everywhere(here, own_threads="request", thread_names="question")
        secret = here.post("my secret")
        last = here.post("something else")
        await here.run("branch", {"message": str(last)}, user=MEMBER)
        (thread,) = threads(here)
        made = ConversationSummary(
            thread.id, "There was a secret.", secret, last, 2, frozenset(), utc_now()
        )
        await here.db.summaries.keep(made, days=9)
        here.stage.people.delete(secret)
        async with asyncio.timeout(PATIENCE_S):
            while await here.db.summaries.of(thread.id) is not None:
                await asyncio.sleep(0.01)

    run_with_bot(scenario)


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<@123> how are you?", "how are you?"),
        ("", ""),
        ("**bold**", "bold"),
        ("a " * 100, ("a " * 29).strip() + "…"),
        ("x" * 500, "x" * 59 + "…"),
        ("one\ntwo", "one two"),
        ("\u202eevil\u200b", "evil"),
    ],
)
def test_a_name_from_a_question(text: str, name: str) -> None:
    assert name_of_question(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('"Green tea."', "Green tea"),
        ("# Title\nmore", "Title"),
        ("\n\n「お茶の話」", "お茶の話"),
        ("**", ""),
        ("@everyone look", "look"),
        ("x" * 300, "x" * 100),
        ("🍵" * 300, "🍵" * 50),
    ],
)
def test_a_name_from_a_model(text: str, name: str) -> None:
    assert name_of_model(text) == name


def test_discords_own_lines_are_no_questions() -> None:
    async def scenario(here: BotHarness) -> None:
        await everywhere(here, own_threads="request", auto_channels=f"<#{here.id_of('general')}>")
        await here.run("talk", {"topic": "cats"}, user=MEMBER)
        kinds = [one.type for one in here.stage.world.history("general")]
        assert MessageType.THREAD_CREATED in kinds
        await here.idle()
        assert here.model.requests == []

    run_with_bot(scenario)
