"""The small parts by themselves: directory, embeds, notices, forms."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from discord_stage import Settings
from oshaberi.delivery.sink import (
    AmbiguousError,
    Embed,
    Post,
    UnsentError,
    WebhookFace,
    WireState,
)
from oshaberi.discord_io import (
    MentionPolicy,
    bot_name,
    emojis_of,
    known_people,
    notice_embed,
)
from oshaberi.discord_io.requests.answers import refusal_of
from oshaberi.discord_io.requests.parameters import avatar_url, edit_form, quoted, webhook_form
from tests.discord_io.sink_harness import SinkHarness, guild, run_with_sinks

NO_LIMITS = Settings(rate_limits=False)


def test_directory_of_a_guild() -> None:
    async def scenario(harness: SinkHarness) -> None:
        place = harness.channel("general").guild
        emojis = emojis_of(place)
        assert [emoji.rpartition(":")[0] for emoji in emojis] == ["<:wave", "<a:spin"]
        assert emojis_of(None) == ()
        known = known_people([*place.members, *place.members], harness.bot.user)
        assert [(one.name, one.aliases) for one in known] == [
            ("Mi", ("Mika M.", "mika")),
            ("ren", ()),
        ]
        assert {one.id for one in known} == {
            str(harness.stage.world.user(name).id) for name in ("mika", "ren")
        }
        assert bot_name(harness.channel("general"), harness.bot) == "Oshaberi"

    people = [{"name": "mika", "display_name": "Mika M.", "nick": "Mi"}, "ren"]
    emojis = ["wave", {"name": "spin", "animated": True}]
    run_with_sinks(
        scenario, world=guild("general", members=people, emojis=emojis), settings=NO_LIMITS
    )


def test_known_names_and_emoji_work_in_a_stream() -> None:
    async def scenario(harness: SinkHarness) -> None:
        place = harness.channel("general").guild
        text = {"known": known_people(place.members, harness.bot.user), "emojis": emojis_of(place)}
        mika = harness.stage.world.user("mika").id
        policy = MentionPolicy(harness.channel("general"), people={mika})
        for mentions in (policy, None):
            await harness.play(
                "general", "hello @mika :wave: friend\n", text=text, mentions=mentions
            )
        first, second = harness.messages("general")
        assert first.content == f"hello <@{mika}> {emojis_of(place)[0]} friend"
        assert first.notified == [mika]
        assert (second.content, second.notified) == (first.content, [])

    run_with_sinks(scenario, world=guild("general", emojis=["wave"]), settings=NO_LIMITS)


def test_notices_keep_the_limits() -> None:
    embed = notice_embed(Embed("t" * 300, "d" * 5000))
    assert embed.title is not None
    assert embed.description is not None
    assert (len(embed.title), len(embed.description)) == (256, 4096)
    assert notice_embed(Embed("title")).description is None


def test_mentions_never_reach_everyone() -> None:
    channel: Any = SimpleNamespace(guild=None)
    text = "@everyone @here <@1> <@!2> <@3> <@&4>"
    allowed = MentionPolicy(channel, people={1, 2}).allowed(text)
    assert {**allowed.to_dict()} == {"parse": [], "users": [1, 2], "roles": []}
    post = Post("n", text)
    for form in (edit_form(post, allowed), webhook_form(post, WebhookFace("Aki"), allowed)):
        assert form.payload is not None
        assert form.payload["allowed_mentions"] == allowed.to_dict()
    worn = webhook_form(post, WebhookFace("Aki"), allowed).payload
    assert worn is not None
    assert "nonce" not in worn


@pytest.mark.parametrize("url", [None, "ftp://x", "x", "https://" + "x" * 2048])
def test_avatar_that_discord_would_refuse_is_left_out(url: str | None) -> None:
    assert avatar_url(WebhookFace("Aki", url)) is None


def test_half_a_character_does_not_lose_the_message() -> None:
    async def scenario(harness: SinkHarness) -> None:
        sink = harness.bot.client_state.sink(harness.channel("general"))
        await sink.send(Post("n", "a\ud83dz"), WireState(0.0))
        assert harness.contents("general") == ["a\ufffdz"]

    run_with_sinks(scenario, settings=NO_LIMITS)


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("hello", "hello"),
        ("a\n\nb  c", "a b c"),
        ("**bold** <@12> <:wave:34>", r"\*\*bold\*\* :wave:"),
        ("see https://example.com/x now", "see now"),
        ("x" * 100, "x" * 79 + "…"),
        ("", "photo.jpg"),
    ],
)
def test_quotes_one_plain_line(content: str, shown: str) -> None:
    async def scenario(harness: SinkHarness) -> None:
        message = await harness.asked("general", content or "x")
        message.content = content
        if not content:
            message.attachments = [_Photo()]  # type: ignore[list-item]
        assert quoted(message) == shown

    run_with_sinks(scenario, settings=NO_LIMITS)


class _Photo:
    filename = "photo.jpg"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("who is ||the *killer*|| there?", "who is ||the \\*killer\\*|| there?"),
        ("||Bob\n\nand Ann||", "||Bob and Ann||"),
        ("||it is Bob https://x.test/a||", "||it is Bob||"),
        ("||<@5>|| hi", "hi"),
        ("a || b", "a \\|\\| b"),
        ("||a|| || ||b||", "||a|| b\\|\\|"),
        ("||" + "x" * 100 + "|| end", "||" + "x" * 79 + "…||"),
        ("y" * 78 + " ||secret||", "y" * 78 + "…"),
        ("||||x||", "||\\|\\|x||"),
    ],
)
def test_a_spoiler_stays_one_where_it_is_quoted(text: str, shown: str) -> None:
    async def scenario(harness: SinkHarness) -> None:
        posted = harness.stage.people.post("general", text, user="mika")
        message = await harness.channel("general").fetch_message(posted.id)
        assert quoted(message) == shown

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_the_name_of_a_hidden_file_is_hidden() -> None:
    async def scenario(harness: SinkHarness) -> None:
        files = {"SPOILER_the_killer.png": b"x"}
        posted = harness.stage.people.post("general", "", user="mika", files=files)
        message = await harness.channel("general").fetch_message(posted.id)
        assert quoted(message) == "||the\\_killer.png||"

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_codes_of_answers() -> None:
    body = json.dumps({"code": 50027, "message": "Invalid Webhook Token"}).encode()
    assert getattr(refusal_of(401, body, {}), "code", None) == 50027
    assert getattr(refusal_of(429, b"<html>", {"Retry-After": "2"}), "retry_after_ms", 0) == 2000
    for odd in ("soon", "nan", "inf", "-1"):
        assert getattr(refusal_of(429, b"", {"Retry-After": odd}), "retry_after_ms", 0) is None


def test_a_ban_of_the_address_is_not_a_limit_of_the_channel() -> None:
    """A channel that would be limited for an hour counts as gone; this does not."""
    assert isinstance(refusal_of(429, b"<html>", {"Retry-After": "3600"}), UnsentError)
    body = json.dumps({"retry_after": 3600}).encode()
    assert getattr(refusal_of(429, body, {}), "retry_after_ms", 0) == 3_600_000
    assert isinstance(refusal_of(400, b"<html>", {}), AmbiguousError)
