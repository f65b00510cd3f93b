"""Rules of components and links that Discord's API description does not have."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from discord_stage import Settings, Stage
from discord_stage.interactions import interaction_flow
from discord_stage.world.records import InteractionType

V2 = 1 << 15


def button(**fields: Any) -> dict[str, Any]:
    return {"type": 2, "style": 1, "label": "Go", "custom_id": "go"} | fields


def select(*values: str, **fields: Any) -> dict[str, Any]:
    options = [{"label": f"Option {value}", "value": value} for value in values]
    return {"type": 3, "custom_id": "pick", "options": options} | fields


def row(*items: dict[str, Any]) -> dict[str, Any]:
    return {"type": 1, "components": list(items)}


async def refused(stage: Stage, path: str, body: Any) -> set[str]:
    """The codes in the tree of errors; empty if it was accepted."""
    heads = {"Authorization": f"Bot {stage.token}"}
    async with (
        aiohttp.ClientSession(headers=heads) as session,
        session.post(f"{stage.url}/api/v10{path}", json=body) as answer,
    ):
        said = {} if answer.status == 204 else await answer.json()
    assert answer.status < 400 or said["code"] == 50035, said
    return set(codes(said.get("errors", {})))


def codes(tree: dict[str, Any]) -> list[str]:
    found = [error["code"] for error in tree.get("_errors", [])]
    for key, inside in tree.items():
        if key != "_errors":
            found += codes(inside)
    return found


def posted(body: Any) -> set[str]:
    async def main() -> set[str]:
        async with Stage(settings=Settings(rate_limits=False)) as stage:
            channel = stage.world.channel("general").id
            return await refused(stage, f"/channels/{channel}/messages", {"content": "x"} | body)

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ([button(label=None)], "BASE_TYPE_REQUIRED"),
        ([button(custom_id=None)], "BASE_TYPE_REQUIRED"),
        (
            [button(url="https://example.com")],
            "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE",
        ),
        ([button(style=5, custom_id=None)], "BASE_TYPE_REQUIRED"),
        ([button(style=5, custom_id=None, url="ftp://a.b")], "URL_TYPE_INVALID_SCHEME"),
        ([button(style=6, custom_id=None)], "BASE_TYPE_REQUIRED"),
        ([button(), button()], "COMPONENT_CUSTOM_ID_DUPLICATED"),
        ([select("a", "a")], "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED"),
        ([select("a", "b", min_values=2)], "SELECT_COMPONENT_MIN_VALUES_ABOVE_MAX"),
        ([select("a", max_values=2)], "SELECT_COMPONENT_MAX_VALUES_TOO_MANY"),
        ([select("a"), button()], "COMPONENT_LAYOUT_WIDTH_EXCEEDED"),
    ],
)
def test_a_row_that_discord_refuses(items: list[dict[str, Any]], code: str) -> None:
    assert posted({"components": [row(*items)]}) == {code}


@pytest.mark.parametrize(
    "items",
    [
        [button()],
        [button(label=None, emoji={"name": "🎉"})],
        [button(style=5, custom_id=None, url="https://example.com/x")],
        [button(style=5, custom_id=None, url="discord://-/settings")],
        [select("a", "b", min_values=0, max_values=2)],
    ],
)
def test_a_row_that_discord_takes(items: list[dict[str, Any]]) -> None:
    assert posted({"components": [row(*items)]}) == set()


def test_layouts_need_their_flag() -> None:
    text = {"type": 10, "content": "hi"}
    assert posted({"components": [text]}) == {"UNION_TYPE_CHOICES"}
    assert posted({"components": [text], "content": None, "flags": V2}) == set()


def test_a_layout_has_40_components_and_4000_characters_in_all() -> None:
    def layout(*texts: str) -> dict[str, Any]:
        inside = [{"type": 10, "content": text} for text in texts]
        return {"content": None, "flags": V2, "components": [{"type": 17, "components": inside}]}

    assert posted(layout(*["x"] * 39)) == set()
    assert posted(layout(*["x"] * 40)) == {"COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED"}
    assert posted(layout("x" * 2001, "x" * 2000)) == {"COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED"}


@pytest.mark.parametrize(
    ("embed", "code"),
    [
        ({"url": "attachment://a.png"}, "URL_TYPE_INVALID_SCHEME"),
        ({"image": {"url": "ftp://a.b/c"}}, "URL_TYPE_INVALID_SCHEME"),
        ({"author": {"name": "x", "url": "steam://run"}}, "URL_TYPE_INVALID_SCHEME"),
    ],
)
def test_the_schemes_of_links(embed: dict[str, Any], code: str) -> None:
    assert posted({"embeds": [{"title": "x"} | embed]}) == {code}
    assert posted({"embeds": [{"title": "x", "image": {"url": "attachment://a.png"}}]}) == set()


@pytest.mark.parametrize(
    "data",
    [
        {"custom_id": "m", "title": "T", "components": []},
        {"custom_id": "m", "title": " ", "components": [row({"type": 4, "custom_id": "a"})]},
        {"custom_id": "m", "components": [row({"type": 4, "custom_id": "a"})]},
    ],
)
def test_an_empty_modal_is_refused(data: dict[str, Any]) -> None:
    async def main() -> None:
        async with Stage() as stage:
            world = stage.world
            person, place = world.user("mika").id, world.channel("general")
            asked = interaction_flow.begin(stage.state, InteractionType.COMMAND, person, place, {})
            path = f"/interactions/{asked.id}/{asked.token}/callback"
            assert await refused(stage, path, {"type": 9, "data": data})

    asyncio.run(main())


def test_a_wrong_message_says_where_it_stands_in_the_body() -> None:
    async def main() -> None:
        async with Stage() as stage, aiohttp.ClientSession() as session:
            world = stage.world
            person, place = world.user("mika").id, world.channel("general")
            asked = interaction_flow.begin(stage.state, InteractionType.COMMAND, person, place, {})
            url = f"{stage.url}/api/v10/interactions/{asked.id}/{asked.token}/callback"
            body = {"type": 4, "data": {"content": "x" * 2001}}
            async with session.post(url, json=body) as answer:
                assert "content" in (await answer.json())["errors"]["data"]

    asyncio.run(main())
