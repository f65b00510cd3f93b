"""Nonsense in a body is refused, never a defect of the stage."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest

from discord_stage import Settings, Stage
from discord_stage.interactions import interaction_flow
from discord_stage.rest import ENDPOINTS
from discord_stage.rest.routing import RouteHandler
from discord_stage.world.records import InteractionType

WORLD: dict[str, object] = {
    "bot": {"permissions": ["administrator"]},
    "guilds": [
        {
            "name": "G",
            "members": ["mika"],
            "channels": [{"name": "general", "threads": ["t"]}, {"name": "posts", "type": "forum"}],
        }
    ],
}
NONSENSE: list[object] = [
    None,
    -1,
    3.5,
    True,
    "x",
    "9" * 30,
    [None],
    [1, "a", {}],
    {"a": 1},
    [[1]],
    [{"id": None, "type": 1, "components": [{"custom_id": 5}], "fields": [{"name": 3}]}],
    [{"footer": "x", "components": 3, "fields": 3}],
    {"message_id": 3, "parse": 3, "users": "x", "embeds": [3]},
]
KEYS = [
    "content",
    "embeds",
    "components",
    "attachments",
    "nonce",
    "allowed_mentions",
    "message_reference",
    "flags",
    "username",
    "avatar_url",
    "thread_name",
    "name",
    "avatar",
    "channel_id",
    "recipient_id",
    "type",
    "permission_overwrites",
    "rate_limit_per_user",
    "archived",
    "auto_archive_duration",
    "applied_tags",
    "messages",
    "allow",
    "nick",
    "data",
    "message",
    "options",
    "parent_id",
]
WRITING = sorted({(e.method, e.path) for e in ENDPOINTS if e.method in ("POST", "PATCH", "PUT")})


def address(stage: Stage, path: str, channel: str) -> str:
    """The path with things that are there; each call gets a message or question of its own."""
    world, place = stage.world, stage.world.channel(channel)
    webhook = next(iter(world.webhooks.values()))
    fresh: dict[str, object] = {"token": webhook.token}
    if "{message_id}" in path or "interaction" in path:
        message = stage.people.post("general", "hi")
        message.author_id = world.bot.id
        fresh["message_id"] = message.id
    if "interaction" in path:
        asked = interaction_flow.begin(
            stage.state, InteractionType.COMPONENT, world.user("mika").id, place, {}, message
        )
        fresh |= {"interaction_id": asked.id, "token": asked.token}
    return path.format(
        **fresh,
        channel_id=place.id,
        webhook_id=webhook.id,
        guild_id=world.guild("G").id,
        application_id=world.application.id,
        command_id=next(iter(world.commands), 1),
        user_id=world.user("mika").id,
        target_id=5,
        emoji="🎉",
        role_id=max(world.guild("G").roles),
        emoji_id=1,
        event_id=1,
        rule_id=1,
        answer_id=1,
        code="x",
    )


def bodies(path: str) -> list[object]:
    fine = {"type": 4, "name": "fine", "content": "x", "description": "d"}
    made: list[object] = [*NONSENSE, [NONSENSE]]
    for number, key in enumerate(KEYS, start=len(path)):
        # Not every value with every key: over all routes they meet often enough.
        for value in (NONSENSE * 2)[number % len(NONSENSE) :][:4]:
            body = fine | {key: value}
            made.append({"type": 4, "data": body} if "callback" in path else body)
    return made + ([[body] for body in made] if path.endswith("/commands") else [])


async def prepared(stage: Stage, session: aiohttp.ClientSession) -> None:
    channel, app = stage.world.channel("general").id, stage.world.application.id
    wanted = {
        f"/channels/{channel}/webhooks": {"name": "w"},
        f"/applications/{app}/commands": {"name": "c", "description": "d"},
    }
    for path, body in wanted.items():
        async with session.post(f"{stage.url}/api/v10{path}", json=body) as answer:
            assert answer.status in (200, 201)


@pytest.mark.parametrize(("method", "path"), WRITING)
def test_nonsense_is_refused(method: str, path: str) -> None:
    async def main() -> None:
        async with Stage(WORLD, Settings(rate_limits=False)) as stage:
            heads = {"Authorization": f"Bot {stage.token}"}
            async with aiohttp.ClientSession(headers=heads) as session:
                await prepared(stage, session)
                places = {c.name: c for c in stage.world.channels.values()}
                statuses = set()
                for body in bodies(path):
                    for name, place in places.items():
                        place.name, place.slowmode_s = name, 0
                    next(iter(stage.world.guilds.values())).name = "G"
                    where = address(stage, path, "general")
                    url = f"{stage.url}/api/v10{where}"
                    async with session.request(method, url, json=body) as answer:
                        statuses.add(answer.status)
            stage.check()
            assert statuses <= {200, 201, 204, 400, 401, 403, 404}

    asyncio.run(main())


@pytest.mark.parametrize("channel", ["t", "posts"])
@pytest.mark.parametrize(
    ("method", "path"),
    [("PATCH", "/channels/{channel_id}"), ("POST", "/channels/{channel_id}/threads")],
)
def test_nonsense_about_threads_is_refused(method: str, path: str, channel: str) -> None:
    async def main() -> None:
        async with Stage(WORLD, Settings(rate_limits=False)) as stage:
            heads = {"Authorization": f"Bot {stage.token}"}
            async with aiohttp.ClientSession(headers=heads) as session:
                await prepared(stage, session)
                number = stage.world.channel(channel).id
                url = f"{stage.url}/api/v10{path.format(channel_id=number)}"
                for body in bodies(path):
                    async with session.request(method, url, json=body) as answer:
                        assert answer.status in (200, 201, 400, 403)
            stage.check()

    asyncio.run(main())


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"nonsense"])
def test_a_body_that_is_not_json(content: bytes) -> None:
    async def main() -> None:
        async with Stage() as stage, aiohttp.ClientSession() as session:
            url = f"{stage.url}/api/v10/channels/{stage.world.channel('general').id}/messages"
            heads = {
                "Authorization": f"Bot {stage.token}",
                "Content-Type": "application/json",
            }
            async with session.post(url, data=content, headers=heads) as answer:
                assert answer.status == 400
                assert json.loads(await answer.text())["code"] == 50109
            async with session.post(url, data=content) as answer:
                assert answer.status == 401
            stage.check()

    asyncio.run(main())


def test_a_form_without_files_is_read() -> None:
    """As py-cord answers interactions."""

    async def main() -> None:
        async with Stage() as stage, aiohttp.ClientSession() as session:
            url = f"{stage.url}/api/v10/channels/{stage.world.channel('general').id}/messages"
            heads = {"Authorization": f"Bot {stage.token}"}
            said = {"payload_json": json.dumps({"content": "a & b"})}
            async with session.post(url, data=said, headers=heads) as answer:
                assert answer.status == 200
            assert stage.world.contents("general") == ["a & b"]
            async with session.post(url, data={"payload_json": "{"}, headers=heads) as answer:
                assert (await answer.json())["code"] == 50109

    asyncio.run(main())


def test_no_two_routes_answer_the_same() -> None:
    keys = [(e.method, e.path) for e in ENDPOINTS]
    assert len(keys) == len(set(keys))


def test_fixed_words_stand_before_variables() -> None:
    """`/users/@me` must not be swallowed by `/users/{user_id}`."""
    seen: list[RouteHandler] = []
    for endpoint in ENDPOINTS:
        for earlier in seen:
            assert not _swallows(earlier, endpoint), (earlier.path, endpoint.path)
        seen.append(endpoint)


def _swallows(earlier: RouteHandler, later: RouteHandler) -> bool:
    ours, theirs = earlier.path.split("/"), later.path.split("/")
    if earlier.method != later.method or len(ours) != len(theirs):
        return False
    pairs = list(zip(ours, theirs, strict=True))
    same = all(a == b or a.startswith("{") for a, b in pairs)
    return same and any(a.startswith("{") and not b.startswith("{") for a, b in pairs)
