"""What went wrong elsewhere (scenes `peer-*`) goes right here, however the text is cut."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .engine_runs import outcome, run

SCENES = sorted((Path(__file__).parents[1] / "scenes").glob("peer-*.json"))


def test_every_case_has_a_scene() -> None:
    assert {int(path.name.split("-")[1]) for path in SCENES} == set(range(1, 15))


@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.stem)
def test_peer_scene(path: Path) -> None:
    scene = json.loads(path.read_text(encoding="utf-8"))
    expected = scene["expect"]
    found = outcome(run("".join(scene["chunks"]), **scene["config"]))
    assert found.messages == expected["messages"]
    assert found.thoughts == expected.get("thoughts", [])
    assert found.tables == expected.get("files", [])
