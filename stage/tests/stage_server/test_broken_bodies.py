"""Bodies that break Discord's description in one place are refused, each with its place."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

import aiohttp
import jsonschema  # type: ignore[import-untyped]
import pytest

from discord_stage import Settings, Stage
from discord_stage.make_constraints import constraint_table as table_of
from discord_stage.make_constraints import written
from discord_stage.request_schema.check import TABLE_FILE, constraint_table, differences, route_key
from discord_stage.rest import ENDPOINTS
from discord_stage.rest.routing import RouteHandler
from stage_server.broken_bodies import BrokenBodies
from stage_server.discord_description import description, needs_description
from stage_server.test_bad_bodies import WORLD, address, prepared

A_ROUTE = 15
REFUSED_LEAST = 0.98


def with_body() -> Iterator[tuple[RouteHandler, dict[str, Any]]]:
    for endpoint in ENDPOINTS:
        constraints = constraint_table().route(endpoint.method, endpoint.path)
        # An unban has a body without fields: there is nothing to break.
        if constraints is not None and constraints.body is not None and endpoint.method != "DELETE":
            yield endpoint, constraints.body


@needs_description
def test_the_table_is_made_from_the_description() -> None:
    """`python -m discord_stage.make_constraints …/discord-openapi.json` writes it anew."""
    assert written(table_of(description())) == TABLE_FILE.read_text(encoding="utf-8")


def test_every_route_of_the_stage_has_its_constraints() -> None:
    unknown = [
        f"{endpoint.method} {endpoint.path}"
        for endpoint in ENDPOINTS
        if constraint_table().route(endpoint.method, endpoint.path) is None
    ]
    assert unknown == []


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_description_allows_is_let_through(seed: int) -> None:
    made = BrokenBodies(seed)
    for endpoint, node in with_body():
        for _ in range(A_ROUTE):
            valid = made.valid(node)
            assert list(differences(node, valid)) == [], (endpoint.path, valid)


@pytest.mark.parametrize("seed", SEEDS)
def test_broken_bodies_are_refused(seed: int) -> None:
    """Over HTTP, by the stage as it runs."""

    async def main() -> None:
        broken, let_through = BrokenBodies(seed), []
        kinds: Counter[str] = Counter()
        async with Stage(WORLD, Settings(rate_limits=False)) as stage:
            heads = {"Authorization": f"Bot {stage.token}"}
            async with aiohttp.ClientSession(headers=heads) as session:
                await prepared(stage, session)
                for endpoint, node in with_body():
                    for _ in range(A_ROUTE):
                        one = broken.one(node)
                        kinds[one.kind] += 1
                        url = f"{stage.url}/api/v10{address(stage, endpoint.path, 'general')}"
                        async with session.request(endpoint.method, url, json=one.body) as answer:
                            said = await answer.json()
                        if said.get("code") != 50035 or "errors" not in said:
                            let_through.append((endpoint.method, endpoint.path, one, said))
            stage.check()
        assert len(kinds) >= 7
        assert len(let_through) <= (1 - REFUSED_LEAST) * kinds.total(), let_through

    asyncio.run(main())


@pytest.mark.slow
@needs_description
@pytest.mark.parametrize("seed", SEEDS)
def test_an_independent_validator_agrees(seed: int) -> None:
    """What we call valid is valid by the file itself, and what we call broken is broken."""
    whole = description()
    made = BrokenBodies(seed)
    schemas = dict(_schemas(whole))
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    valid_ones = broken_ones = agreed_valid = agreed_broken = 0
    for endpoint, node in with_body():
        schema = schemas[route_key(endpoint.method, endpoint.path)]
        validator = jsonschema.Draft202012Validator(
            {"components": whole["components"], "allOf": [schema]}, format_checker=checker
        )
        for _ in range(A_ROUTE):
            one = made.one(node)
            valid_ones += 1
            agreed_valid += validator.is_valid(one.valid)
            broken_ones += 1
            agreed_broken += not validator.is_valid(one.body)
    # `oneOf` wants exactly one branch where several fit, and formats are checked in part only.
    assert agreed_valid >= 0.9 * valid_ones
    assert agreed_broken >= 0.9 * broken_ones


def _schemas(whole: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for path, item in whole["paths"].items():
        for method in ("post", "put", "patch"):
            content = item.get(method, {}).get("requestBody", {}).get("content", {})
            if "application/json" in content:
                yield route_key(method, path), content["application/json"]["schema"]


@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({"content": 5}, ["content"], "STRING_TYPE_CONVERT"),
        ({"content": "x" * 4001}, ["content"], "BASE_TYPE_MAX_LENGTH"),
        ({"tts": "yes"}, ["tts"], "BOOLEAN_TYPE_CONVERT"),
        ({"embeds": {}}, ["embeds"], "LIST_TYPE_CONVERT"),
        ({"embeds": [3]}, ["embeds", "0"], "DICT_TYPE_CONVERT"),
        ({"embeds": [{"color": -1}]}, ["embeds", "0", "color"], "NUMBER_TYPE_MIN"),
        ({"embeds": [{"color": 1 << 24}]}, ["embeds", "0", "color"], "NUMBER_TYPE_MAX"),
        ({"embeds": [{"url": "x y"}]}, ["embeds", "0", "url"], "URL_TYPE_INVALID_URL"),
        ({"embeds": [{"timestamp": "now"}]}, ["embeds", "0", "timestamp"], "DATE_TIME_TYPE_PARSE"),
        (
            {"embeds": [{"fields": [{"name": "x"}]}]},
            ["embeds", "0", "fields", "0", "value"],
            "BASE_TYPE_REQUIRED",
        ),
        ({"components": [{"type": 99}]}, ["components", "0", "type"], "UNION_TYPE_CHOICES"),
        (
            {"components": [{"type": 1, "components": []}]},
            ["components", "0", "components"],
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            {"message_reference": {"message_id": "1", "channel_id": "abc"}},
            ["message_reference", "channel_id"],
            "NUMBER_TYPE_COERCE",
        ),
        (
            {"message_reference": {"message_id": "1", "type": 7}},
            ["message_reference", "type"],
            "BASE_TYPE_CHOICES",
        ),
        (
            {"allowed_mentions": {"users": ["1", "1"]}},
            ["allowed_mentions", "users", "1"],
            "SET_TYPE_ALREADY_CONTAINS_VALUE",
        ),
    ],
)
def test_each_error_stands_at_its_place(body: Any, path: list[str], code: str) -> None:
    async def main() -> None:
        async with Stage() as stage, aiohttp.ClientSession() as session:
            url = f"{stage.url}/api/v10/channels/{stage.world.channel('general').id}/messages"
            heads = {"Authorization": f"Bot {stage.token}"}
            async with session.post(url, json={"content": "x"} | body, headers=heads) as answer:
                said = await answer.json()
            assert (answer.status, said["code"]) == (400, 50035)
            tree = said["errors"]
            for step in path:
                tree = tree[step]
            assert [error["code"] for error in tree["_errors"]] == [code]
            stage.check()

    asyncio.run(main())


@pytest.mark.parametrize(
    "path",
    [
        "/channels/{}/messages?limit=0",
        "/channels/{}/messages?limit=101",
        "/channels/{}/messages?limit=x",
        "/channels/{}/messages?before=x",
        "/channels/x",
        "/channels/{}/messages/1.5",
    ],
)
def test_path_and_query_are_checked_too(path: str) -> None:
    async def main() -> None:
        async with Stage() as stage, aiohttp.ClientSession() as session:
            url = f"{stage.url}/api/v10" + path.format(stage.world.channel("general").id)
            heads = {"Authorization": f"Bot {stage.token}"}
            async with session.get(url, headers=heads) as answer:
                assert (answer.status, (await answer.json())["code"]) == (400, 50035)

    asyncio.run(main())
