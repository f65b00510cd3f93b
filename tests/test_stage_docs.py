"""docs/stage.md tells the truth about routes and control actions.

`make generate` writes its tables again.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from pathlib import Path

from discord_stage import Stage, World
from discord_stage.access_guard import HEADER
from discord_stage.control.api import ControlApi
from discord_stage.request_schema.check import constraint_table
from discord_stage.rest import ENDPOINTS

PAGE = Path(__file__).parents[1] / "docs" / "stage.md"
BEGIN, END = "<!-- routes: begin -->", "<!-- routes: end -->"


def _resource(path: str) -> str:
    """`/guilds/{guild_id}/bans/{user_id}` → `/guilds/*/bans`."""
    words = ["*" if word.startswith("{") else word for word in path.split("/")[1:]]
    kept = words[:3] if words[0] in ("guilds", "channels", "applications") else words[:2]
    return "/" + "/".join(kept).rstrip("/*")


def route_table() -> str:
    has: defaultdict[str, set[str]] = defaultdict(set)
    lacks: defaultdict[str, set[str]] = defaultdict(set)
    for endpoint in ENDPOINTS:
        has[_resource(endpoint.path)].add(f"{endpoint.method} {endpoint.path}")
    for name in constraint_table().missing:
        lacks[_resource(name.split(" ")[1])].add(name)
    lines = ["| resource | the stage has | missing (501) |", "|---|---|---|"]
    for resource in sorted(has.keys() | lacks.keys()):
        missing = ", ".join(f"`{_short(name, resource)}`" for name in sorted(lacks[resource]))
        lines.append(f"| `{resource}` | {len(has[resource])} | {missing or 'nothing'} |")
    total = f"{len(ENDPOINTS)} routes; {len(constraint_table().missing)} of Discord's are missing."
    return "\n".join([total, "", *lines])


def _short(name: str, resource: str) -> str:
    """Without the beginning that the row has already."""
    method, path = name.split(" ")
    words = path.split("/")[1:][len(resource.split("/")) - 1 :]
    return f"{method} …/{'/'.join(words)}".rstrip("/").rstrip("…").rstrip()


def written(page: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{route_table()}\n{END}{after}"


def test_the_table_of_routes_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert BEGIN in page
    assert page == written(page), "run: make generate"


def test_every_control_action_and_the_header_are_documented() -> None:
    async def main() -> tuple[set[str], set[str]]:
        async with Stage() as stage:
            actions = ControlApi(stage.state, stage.gateway, stage.people, "", {}, {})._actions
            return set(actions.reads), set(actions.acts)

    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (GET|POST) ((?:`\w+`(?:, )?)+) \|", page, re.MULTILINE)
    found: dict[str, set[str]] = {"GET": set(), "POST": set()}
    for method, names in rows:
        found[method] |= set(re.findall(r"`(\w+)`", names))
    assert (found["GET"], found["POST"]) == asyncio.run(main())
    assert f"`{HEADER}: " in page


def test_the_documented_world_can_be_built() -> None:
    page = PAGE.read_text(encoding="utf-8")
    [example] = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    world = World.described(json.loads(example))
    assert world.guild("Guild").id == 100000000000000001
    assert world.channel("general").id == 100000000000000002
    assert (world.application.token, world.user("ren").id) == ("my-token", 100000000000000003)
