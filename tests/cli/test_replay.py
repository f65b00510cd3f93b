"""`oshaberi replay`: JSON lines as the contract has them, transcripts, --check."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from oshaberi import cli
from oshaberi.cli.command_group import app

SCENES = Path(__file__).parents[1] / "scenes"
Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def scene(name: str = "scene.json", **fields: Any) -> str:
        path = tmp_path / name
        path.write_text(json.dumps({"chunks": ["hi\nyou"], **fields}), encoding="utf-8")
        return str(path)

    return scene


def replay(*args: str, text: str = "") -> Result:
    return CliRunner().invoke(app, ["replay", *args], input=text)


def lines_of(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


FIELDS = {
    "message": ["kind", "id", "content", "via", "username", "avatar_url", "reply", "at_ms"],
    "typing": ["kind", "ms", "at_ms"],
    "file": ["kind", "name", "bytes", "width", "height", "source", "alt", "via", "at_ms"],
    "embed": ["kind", "title", "description", "at_ms"],
    "reply_notice": ["kind", "username", "at_ms"],
    "edit": ["kind", "id", "content", "at_ms"],
    "delete": ["kind", "id", "at_ms"],
    "result": [
        *("kind", "status", "stop_reason", "accumulated_text", "thoughts", "details"),
        *("messages_sent", "undelivered", "finish_reason", "data"),
    ],
}


def test_every_line_has_the_fields_of_the_contract() -> None:
    lines = lines_of(replay("--json", str(SCENES)))
    assert {line["kind"] for line in lines} == FIELDS.keys()
    for line in lines:
        assert list(line) == FIELDS[line["kind"]]


def test_an_edit_has_the_fields_of_the_contract(write: Write) -> None:
    chunks = ["one\ntwo\n", {"type": "wait", "ms": 3000}, "three"]
    path = write(config={"delivery": "live"}, chunks=chunks)
    edits = [line for line in lines_of(replay("--json", path)) if line["kind"] == "edit"]
    assert edits
    assert all(list(edit) == FIELDS["edit"] for edit in edits)


def test_from_standard_input() -> None:
    scene = {"chunks": ["hel", "lo"], "reply_to": True, "config": {"humanizer_degree": 1}}
    message, result = lines_of(replay("--json", "-", text=json.dumps(scene)))
    assert (message["content"], message["reply"]) == ("hello", True)
    assert (result["status"], result["messages_sent"]) == ("completed", 1)


def test_rechunk_changes_nothing(write: Write) -> None:
    path = write(chunks=["Some words (in\nbrackets)\n```py\nx = 1\n```\nend :tada:"])
    assert replay("--json", path).stdout == replay("--json", "--rechunk", "5", path).stdout


def test_lone_surrogates_stay_json(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(chunks=[{"type": "thought", "content": "\ud800"}, "ok"])
    assert cli.main(["replay", "--json", path]) == 0
    *_, result = capsys.readouterr().out.splitlines()
    assert len(json.loads(result)["thoughts"]) == 1


def test_a_transcript_tells_when_who_and_what() -> None:
    result = replay(str(SCENES / "typing-between.json"))
    clock = [line.split()[0] for line in result.stdout.splitlines()]
    assert result.stdout.splitlines()[0] == "    0.00 s  bot: first"
    assert "typing, 0.75 s …" in result.stdout
    assert clock[:5] == sorted(clock[:5])
    assert result.stdout.splitlines()[-1].strip() == "completed, 3 messages"
    assert "\x1b" not in result.stdout


def test_a_transcript_shows_every_kind_of_record(write: Write) -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    persona = {"name": "Aoi", "is_alter": True}
    chunks: list[Any] = [{"type": "thought", "content": "a\nb"}, f"one\n```\nx\n```\n{table}\n\n"]
    chunks.append({"type": "error", "error": {"type": "rate_limit", "message": "slow down"}})
    result = replay(write(chunks=chunks, persona=persona, reply_to=True))
    for part in ("↪ Aoi replies", "Aoi: one", "[table-1.png, ", "slow down", "thought: a ⏎ b"):
        assert part in result.stdout


def test_several_scenes_have_titles(write: Write) -> None:
    first, second = write("a.json"), write("b.json")
    out = replay(first, second).stdout.splitlines()
    assert out[0] == first
    assert second in out


def test_real_time_tells_the_same(write: Write) -> None:
    path = write(config={"humanizer_degree": 1})
    virtual, real = (
        lines_of(replay("--json", path)),
        lines_of(replay("--json", "--real-time", path)),
    )
    for line in (*virtual, *real):
        line.pop("at_ms", None)
    assert real == virtual


# -- --check -------------------------------------------------------------------------------------


def test_check_passes_over_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oshaberi.cli.replay_output.EVERY_S", math.inf)  # this machine may be busy
    result = replay("--check", str(SCENES))
    assert (result.exit_code, result.stderr) == (0, "")
    count = len(list(SCENES.rglob("*.json")))
    assert result.stdout == f"{count} scenes: as expected\n"


def check(*args: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = cli.main(["replay", "--check", *args])
    return status, *capsys.readouterr()


def test_check_shows_what_differs(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(expect={"messages": ["hi", "me"], "status": "completed"})
    status, out, _ = check(path, capsys=capsys)
    assert status == 1
    assert out.splitlines() == [
        f"{path}: different (- expected, + got)",
        "  messages:",
        '      "hi"',
        '    - "me"',
        '    + "you"',
        "1 scene: 1 different",
    ]


def test_check_goes_on_after_a_bad_scene(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    bad, good = write("bad.json", oops=1), write("good.json", expect={"messages": ["hi", "you"]})
    status, out, err = check(bad, good, write("mute.json"), capsys=capsys)
    assert status == 2
    assert err.startswith(f"oshaberi: {bad}: oops: no such key")
    assert out == "3 scenes: 1 as expected, 1 cannot be read, 1 without `expect`, not compared\n"


def test_settings_that_the_model_was_told_are_checked_and_change_nothing(write: Write) -> None:
    plain = lines_of(replay("--json", write()))
    told = {"llm_stop_strings": ["###"], "speaker_guard_holdback_chars": 64}
    assert lines_of(replay("--json", write(config=told))) == plain


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"llm_stop_strings": "###"}, "config.llm_stop_strings: must be a list, not a text"),
        ({"speaker_guard_holdback_chars": 999}, "is not a whole number from 0 to 256"),
        ({"cooldown_ms": 1}, "cooldown_ms"),
    ],
)
def test_settings_of_a_scene_that_are_wrong(
    config: dict[str, Any], reason: str, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["replay", write(config=config)]) == 2
    assert reason in capsys.readouterr().err
