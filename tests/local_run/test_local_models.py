"""On the local stage `/model` may choose what runs on this machine: it is the visitor's own."""

from __future__ import annotations

from pathlib import Path

from tests.local_run.local_run_process import LocalRunProcess, local_run

GIVEN = {"provider": "llamacpp", "model": "x"}


def told(here: LocalRunProcess, words: str) -> None:
    """The bot says this privately to `/model set` of a local preset."""
    here.post("run", command="model set", options=GIVEN, channel="general")
    here.until(lambda found: any(words in message["content"] for message in found))


def test_local_presets_can_be_tried(tmp_path: Path) -> None:
    with local_run(tmp_path / "data") as here:
        assert here.get("model")["overridden_by"] is None
        told(here, "llamacpp/x")
        assert here.get("model")["overridden_by"] == "llamacpp/x"


def test_unless_the_settings_say_no(tmp_path: Path) -> None:
    file = tmp_path / "oshaberi.toml"
    file.write_text("allow_local_models = false\n")
    with local_run(tmp_path / "data", "--config", str(file)) as here:
        told(here, "allow_local_models")
