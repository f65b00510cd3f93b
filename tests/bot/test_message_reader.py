"""Discord's messages as values: names, mentions, emoji, files, replies, and whose they are."""

from __future__ import annotations

from contextvars import copy_context
from types import SimpleNamespace
from typing import Any

import discord

from discord_stage.rules.messages import MessageDraft, Upload, read_draft
from discord_stage.world_changes import message_posting
from oshaberi.bot.client.message_reader import MessageReader
from oshaberi.bot.commands.answers import speak_to_user
from oshaberi.bot.conversation.messages import ChannelMessage
from oshaberi.delivery.sink import Embed, Post, WebhookFace, WireState
from oshaberi.discord_io.requests.parameters import is_reply_notice
from tests.bot.client_harness import MEMBER, MODERATOR, OWNER, ClientHarness, run_with_client, world

MOCHI = WebhookFace("Mochi", "https://pictures.test/mochi.png")


async def _say(
    harness: ClientHarness, text: str, face: WebhookFace | None = None, embed: Embed | None = None
) -> int:
    """The bot writes; the id of its message."""
    sink = harness.turn_channel().sink(None)
    if face is not None:
        await sink.open_webhook()
    sent = await sink.send(
        Post(f"n{len(harness.stage.requests)}", text, face=face, embed=embed), WireState(0)
    )
    assert sent.id is not None
    return sent.id


async def _last(harness: ClientHarness) -> ChannelMessage:
    incoming = (await harness.heard(1))[-1]
    return incoming.said


def test_who_writes_and_what_they_may_do() -> None:
    async def scenario(harness: ClientHarness) -> None:
        for user in (MEMBER, MODERATOR, OWNER):
            harness.stage.people.post("general", "hello", user=user)
        ren, aya, mika = (one.said.author for one in await harness.heard(3))
        assert (ren.name, ren.handles) == ("Renny", ("Ren", "ren"))
        assert ren.username == "ren"
        assert ren.avatar_url
        assert (ren.is_bot, ren.can_manage_messages, ren.can_manage_server) == (False,) * 3
        assert (aya.can_manage_messages, aya.can_manage_server) == (True, False)
        assert (mika.can_manage_messages, mika.can_manage_server) == (True, True)

    run_with_client(scenario)


def test_mentions_and_emoji_read_as_people_see_them() -> None:
    async def scenario(harness: ClientHarness) -> None:
        ren = harness.stage.world.user(MEMBER).id
        wave = next(iter(next(iter(harness.stage.world.guilds.values())).emojis))
        text = (
            f"<@{ren}> and <@{harness.stage.world.bot.id}>, see <#{harness.id_of('logs')}> "
            f"<:wave:{wave}> <@&{harness.stage.world.role('mods').id}> </stop:1> <t:1:R> <@12345>"
        )
        harness.stage.people.post("general", text, user=OWNER)
        (incoming,) = await harness.heard(1)
        assert incoming.said.text == (
            "@Renny and @Oshaberi, see #logs :wave: @mods /stop <t:1:R> <@12345>"
        )
        assert [one.name for one in incoming.said.mentions] == ["Renny"]
        assert incoming.mentions_us
        assert (incoming.channel_id, incoming.server_id) == (
            harness.id_of("general"),
            harness.server_id,
        )
        assert not incoming.is_direct

    run_with_client(scenario)


def test_names_that_nobody_typed() -> None:
    async def scenario(harness: ClientHarness) -> None:
        world_, people = harness.stage.world, harness.stage.people
        role = f"<@&{world_.role('mods').id}>"
        user, place = f"<@{world_.user(MEMBER).id}>", f"<#{harness.id_of('logs')}>"
        for text in ("hi @all", f"ask {user} in {place} </help:1> <:wave:2>", f"{role} hi"):
            people.post("general", text, user=OWNER)
        words = [one.said.own_words.split() for one in await harness.heard(3)]
        assert words == [["hi", "@all"], ["ask", "in"], ["@mods", "hi"]]

    run_with_client(scenario)


def test_the_role_that_bears_the_bots_name_is_a_mention_too() -> None:
    async def scenario(harness: ClientHarness) -> None:
        role = harness.stage.world.role("Oshaberi").id
        harness.stage.people.post("general", f"<@&{role}> hi", user=OWNER)
        harness.stage.people.post("general", "just talking", user=OWNER)
        first, second = await harness.heard(2)
        assert first.mentions_us
        assert not second.mentions_us

    run_with_client(scenario)


def test_files_come_along() -> None:
    async def scenario(harness: ClientHarness) -> None:
        harness.stage.people.post("general", "", user=MEMBER, files={"notes.txt": b"abc"})
        (file,) = (await _last(harness)).files
        assert (file.name, file.mime, file.size) == ("notes.txt", "text/plain", 3)
        assert file.url.partition("?")[0].endswith("/notes.txt")

    run_with_client(scenario)


def test_a_reply_brings_what_it_replies_to() -> None:
    async def scenario(harness: ClientHarness) -> None:
        ours = await _say(harness, "I said *this*", MOCHI)
        harness.stage.people.post("general", "why?", user=MEMBER, reply_to=ours)
        (incoming,) = await harness.heard(1)
        assert incoming.said.reply_to == ours
        assert incoming.replied is not None
        assert incoming.replied.by_us
        assert incoming.replied.shown_as == "Mochi"
        assert incoming.replied.text == "I said *this*"

    run_with_client(scenario)


def test_a_reply_to_what_was_deleted_has_no_other_side() -> None:
    async def scenario(harness: ClientHarness) -> None:
        gone = harness.stage.people.post("general", "soon gone", user=OWNER)
        asked = harness.stage.people.post("general", "what?", user=MEMBER, reply_to=gone)
        await harness.heard(2)
        harness.stage.people.delete(gone)
        turn_channel = harness.turn_channel()
        message = await harness.channel().fetch_message(asked.id)
        assert (await harness.client.reader.incoming(message)).replied is None
        again = await turn_channel.incoming(asked.id)
        assert again is not None
        assert again.said.reply_to == gone.id

    run_with_client(scenario)


def test_direct_messages_and_threads() -> None:
    async def scenario(harness: ClientHarness) -> None:
        harness.stage.people.dm("psst", user=MEMBER)
        harness.stage.people.post("side", "in a thread", user=OWNER)
        direct, threaded = await harness.heard(2)
        assert direct.is_direct
        assert direct.said.author.name == "Ren"
        assert (threaded.channel_id, threaded.parent_id) == (
            harness.id_of("side"),
            harness.id_of("general"),
        )

    run_with_client(scenario, world({"name": "general", "threads": ["side"]}, "logs"))


def test_what_is_ours_is_not_handed_on() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await _say(harness, "as the bot")
        await _say(harness, "as a persona", MOCHI)
        await harness.stage.settled()
        harness.stage.people.post("general", "somebody", user=MEMBER)
        assert [one.said.text for one in await harness.heard(1)] == ["somebody"]

    run_with_client(scenario)


def test_a_webhook_of_others_tells_whose_it_is() -> None:
    async def scenario(harness: ClientHarness) -> None:
        state = harness.stage.state
        speaker = message_posting.PostAuthor(4711, 4711, "Somebody", None, 466)
        message_posting.post(
            state, harness.stage.world.channel("general"), speaker, MessageDraft(content="hi")
        )
        author = (await _last(harness)).author
        assert (author.name, author.is_bot, author.application_id) == ("Somebody", True, 466)
        assert author.username == ""  # a webhook calls itself what it likes
        channel_info = await harness.turn_channel().channel_info(None, 10)
        assert channel_info.people == ()  # nobody can mention a webhook

    run_with_client(scenario)


def test_a_poll_is_read_and_calls_nobody() -> None:
    async def scenario(harness: ClientHarness) -> None:
        poll = {
            "question": {"text": "Mochi, what to eat?"},
            "answers": [{"poll_media": {"text": one}} for one in ("soup", "rice")],
        }
        speaker = message_posting.PostAuthor(4711, 4711, "Somebody", None, 466)
        place = harness.stage.world.channel("general")
        message_posting.post(harness.stage.state, place, speaker, read_draft({"poll": poll}, []))
        said = await _last(harness)
        assert said.text == "(poll: Mochi, what to eat? soup / rice)"
        assert said.own_words == ""

    run_with_client(scenario)


def _post_proxied(harness: ClientHarness, text: str, files: tuple[str, ...] = ()) -> int:
    """PluralKit repeats somebody's words."""
    speaker = message_posting.PostAuthor(4711, 4711, "Mika | she", None, 466)
    uploads = [Upload(number, name, b"x") for number, name in enumerate(files)]
    draft = read_draft({"content": text}, uploads)
    place = harness.stage.world.channel("general")
    return message_posting.post(harness.stage.state, place, speaker, draft).id


def test_whose_words_a_proxy_repeats() -> None:
    async def scenario(harness: ClientHarness) -> None:
        people, world_ = harness.stage.people, harness.stage.world
        mods = people.post("general", "[tea is ready]", user=MODERATOR).id
        people.post("general", "tea is ready, everybody, and this is a long other message" * 3)
        people.post("logs", "tea is ready", user=OWNER)
        await harness.heard(3)
        _post_proxied(harness, "tea is ready")
        people.delete(mods)
        copy = (await harness.heard(4))[-1]
        assert (copy.copied_id, copy.user_id) == (mods, world_.user(MODERATOR).id)
        author = copy.said.author
        assert (author.name, author.username, author.application_id) == ("Mika | she", "", 466)
        assert author.can_manage_messages
        assert author.role_ids
        assert copy.webhook is not None
        assert (copy.webhook.id, copy.webhook.can_manage_messages) == (4711, False)
        _post_proxied(harness, "nobody wrote this")
        unknown = (await harness.heard(5))[-1]
        assert (unknown.copied_id, unknown.user_id, unknown.webhook) == (None, 4711, None)
        picture = people.post("general", "", user=MEMBER, files={"cat.png": b"x"}).id
        await harness.heard(6)
        _post_proxied(harness, "", ("cat.png",))
        assert (await harness.heard(7))[-1].copied_id == picture

    run_with_client(scenario)


def test_a_short_copy_repeats_the_closest_message() -> None:
    """Not the newest that happens to have its words, and none with other mentions."""

    async def scenario(harness: ClientHarness) -> None:
        people, bot = harness.stage.people, f"<@{harness.stage.world.bot.id}>"
        tagged = people.post("general", "m: ok", user=MEMBER).id
        people.post("general", "is this ok now", user=OWNER)
        people.post("general", f"{bot} ok", user=OWNER)
        await harness.heard(3)
        _post_proxied(harness, "ok")
        assert (await harness.heard(4))[-1].copied_id == tagged
        tagged = people.post("general", f"{bot} m:  are you  there", user=MEMBER).id
        await harness.heard(5)
        _post_proxied(harness, f"{bot}  are you  there")  # as PluralKit moves a leading mention
        assert (await harness.heard(6))[-1].copied_id == tagged
        tagged = people.post("general", f"{bot} m: kept", user=MEMBER).id
        await harness.heard(7)
        _post_proxied(harness, f"m: {bot} kept")  # whose member keeps the tags
        assert (await harness.heard(8))[-1].copied_id == tagged

    run_with_client(scenario)


def test_the_copy_of_a_reply_is_a_reply() -> None:
    async def scenario(harness: ClientHarness) -> None:
        people = harness.stage.people
        ours = await _say(harness, "tea?")
        hers = people.post("general", "coffee?", user=OWNER)
        people.post("general", "yes -m", user=MEMBER, reply_to=ours)
        people.post("general", "no -m", user=MEMBER, reply_to=hers)
        await harness.heard(3)
        for words in ("yes", "no"):
            _post_proxied(harness, words)
        yes, no = (await harness.heard(5))[-2:]
        assert (yes.is_addressed, yes.is_for_others) == (True, False)
        assert (no.is_addressed, no.is_for_others) == (False, True)

    run_with_client(scenario)


def test_who_opts_out_is_not_heard_through_a_proxy_either() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await harness.db.opt_outs.add(harness.stage.world.user(MEMBER).id)
        harness.stage.people.post("general", "m: a secret", user=MEMBER)
        harness.stage.people.post("general", "o: no secret", user=OWNER)
        await harness.heard(1)
        _post_proxied(harness, "a secret")
        _post_proxied(harness, "no secret")
        heard = await harness.heard(2)
        assert [one.said.text for one in heard] == ["o: no secret", "no secret"]

    run_with_client(scenario)


def test_whom_a_message_is_for() -> None:
    async def scenario(harness: ClientHarness) -> None:
        people, world_ = harness.stage.people, harness.stage.world
        bot, ren = world_.bot.id, world_.user(MEMBER).id
        hers = people.post("general", "hello", user=OWNER)
        for text in (f"<@{ren}>", f"<@&{world_.role('mods').id}>", "@everyone", f"<@{bot}>"):
            people.post("general", text, user=OWNER)
        people.post("general", "hm", user=MEMBER, reply_to=hers)
        people.post("general", "I mean", user=OWNER, reply_to=hers)
        heard = await harness.heard(7)
        for_others = [False, True, True, True, False, True, False]
        assert [one.is_for_others for one in heard] == for_others
        ours = await _say(harness, "mine")
        people.post("general", "oh", user=MEMBER, reply_to=ours)
        assert not (await harness.heard(8))[-1].is_for_others

    run_with_client(scenario)


def test_only_a_notice_is_taken_for_one() -> None:
    link = "https://discord.com/channels/1/2/3"
    assert is_reply_notice(f"-# ↩ **Ren**: what is it {link}")
    assert is_reply_notice(f"-# ↩ **Ren** {link}")
    assert not is_reply_notice("-# ↩ small print of mine")
    assert not is_reply_notice(f"look: -# ↩ **Ren** {link}")


def test_a_thread_starts_with_what_it_was_made_from() -> None:
    async def scenario(harness: ClientHarness) -> None:
        start = harness.stage.people.post("general", "a question", user=MEMBER)
        await harness.heard(1)
        message = await harness.channel().fetch_message(start.id)
        thread = await message.create_thread(name="about it")
        harness.stage.people.post(thread.id, "inside", user=OWNER)
        channel_info = await harness.client.turn_channel(thread).channel_info(None, 10)
        told = [(said.author.name, said.text) for said in channel_info.history]
        assert told == [("Renny", "a question"), (OWNER, "inside")]

    run_with_client(scenario)


def test_a_command_tells_the_language_of_its_direct_message_channel() -> None:
    """Discord does not always say whose a channel is: then its id is all that is known."""
    reader = MessageReader(discord.Client(intents=discord.Intents.none()))
    told: Any = SimpleNamespace(
        locale=discord.Locale.japanese,
        client=SimpleNamespace(reader=reader),
        user=SimpleNamespace(id=1),
        guild_id=None,
        channel_id=77,
    )
    channel: Any = SimpleNamespace(id=77)
    assert reader.locale_of_direct(channel, None) is None
    copy_context().run(speak_to_user, told)
    assert reader.locale_of_direct(channel, None) == "ja"
