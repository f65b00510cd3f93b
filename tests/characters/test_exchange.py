"""Cards are exchanged with a writer and two readers that others wrote.

Neither is a dependency. With REQUIRE_CARD_READERS=1 both must be there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from oshaberi.bot.characters.card_files import blank_png, read_card, written_card
from tests.characters.made_cards import DATA_V3, V1, as_v2, as_v3

if os.environ.get("REQUIRE_CARD_READERS"):
    import aichar
else:
    aichar = pytest.importorskip("aichar", reason="needs: pip install aichar==1.0.5")
FOLDER = Path(__file__).parent
READER = "@lenml/char-card-reader@1.1.1"


def test_aichar_reads_what_we_write() -> None:
    for document in (V1, as_v2(), as_v3()):
        card = read_card(json.dumps(document).encode())
        found = aichar.load_character_card(written_card(card, "png"))
        assert (found.name, found.summary) == ("Mochi", V1["description"])
        assert (found.personality, found.scenario) == (V1["personality"], V1["scenario"])
        assert found.greeting_message == V1["first_mes"]
        assert found.example_messages == V1["mes_example"]


@pytest.mark.parametrize("form", ["tavernai", "sillytavern", "pygmalion"])
def test_we_read_what_aichar_writes(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "face.png").write_bytes(blank_png())
    monkeypatch.chdir(tmp_path)  # it takes no path with a folder
    made = aichar.create_character(
        name="Mochi",
        summary=V1["description"],
        personality="",
        scenario=V1["scenario"],
        greeting_message=V1["first_mes"],
        example_messages=V1["mes_example"],
        image_path="face.png",
    )
    card = read_card(bytes(made.export_card(form)))
    assert (card.name, card.scenario) == ("Mochi", V1["scenario"])
    assert (card.greetings, card.examples) == ((V1["first_mes"],), V1["mes_example"])
    assert V1["description"] in card.description
    assert card.face is not None


def with_node(file: Path) -> dict[str, Any]:
    """Read a card with the npm package, which is looked for in `node_modules` above this file."""
    node = shutil.which("node")
    roots = [one / "node_modules" / READER.rpartition("@")[0] for one in FOLDER.parents]
    if node is None or not any(root.is_dir() for root in roots):
        if os.environ.get("REQUIRE_CARD_READERS"):
            pytest.fail(f"node and npm install {READER}")
        pytest.skip(f"needs node and, in the root of the repository: npm install {READER}")
    done = subprocess.run(
        [node, str(FOLDER / "read_card.mjs"), str(file)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("form", ["png", "json"])
def test_the_npm_reader_reads_what_we_write(form: str, tmp_path: Path) -> None:
    """It does not read CHARX."""
    card = read_card(json.dumps(as_v3()).encode())
    file = tmp_path / f"mochi.{form}"
    file.write_bytes(written_card(card, form))
    data = with_node(file)["data"]
    for key in ("name", "description", "first_mes", "system_prompt", "creator_notes"):
        assert data[key] == DATA_V3[key], key
    assert data["alternate_greetings"] == DATA_V3["alternate_greetings"]
    entries = data["character_book"]["entries"]
    assert [one["content"] for one in entries] == ["Matcha is kept in the blue tin."]
