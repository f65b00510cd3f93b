"""`oshaberi chunk`: plain and JSON, settings, streams in, bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from oshaberi import OshaberiError
from oshaberi.cli.command_group import app
from oshaberi.cli.commands.chunk import SEPARATOR


def chunk(*args: str, text: str | bytes = "") -> Result:
    return CliRunner().invoke(app, ["chunk", *args], input=text)


def lines_of(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_messages_stand_between_separators() -> None:
    result = chunk(text="one\ntwo (still\nopen)\n```\na\n\nb\n```")
    assert result.exit_code == 0
    messages = result.stdout.removesuffix("\n").split(f"\n{SEPARATOR}\n")
    assert messages == ["one", "two (still\nopen)", "```\na\n\nb\n```"]


def test_nothing_in_nothing_out() -> None:
    result = chunk(text="")
    assert (result.exit_code, result.stdout) == (0, "")


@pytest.mark.parametrize(
    ("degree", "messages"),
    [
        ("0", ["One. Two.\n\nThree."]),
        ("1", ["One. Two.", "Three."]),
        ("3", ["one", "two", "three"]),
    ],
)
def test_degree(degree: str, messages: list[str]) -> None:
    result = chunk("--degree", degree, "--json", text="One. Two.\nThree.")
    assert [line["text"] for line in lines_of(result)] == messages


def test_json_tells_everything() -> None:
    text = (
        "<think>hm</think>hi :nope: you\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<details>d</details>"
    )
    emoji = 'emojis=["<:soup:111111111111111111>"]'
    lines = lines_of(chunk("--json", "--degree", "1", "--set", emoji, text=text))
    assert {line["kind"] for line in lines} == {
        "thought",
        "message",
        "withheld",
        "table",
        "details",
    }
    message = next(line for line in lines if line["kind"] == "message")
    assert message == {
        "kind": "message",
        "text": "hi you",
        "boundary": "newline",
        "identity": None,
        "segment": 1,
        "span": message["span"],
        "labelled": False,
    }
    parsed = next(line for line in lines if line["kind"] == "table")
    assert (parsed["header"], parsed["rows"]) == (["a", "b"], [["1", "2"]])


def test_json_is_utf_8_and_readable() -> None:
    assert "おしゃべり 👋" in chunk("--json", text="おしゃべり 👋").stdout


def test_a_speaker_stop_is_said() -> None:
    guard = ("--set", "llm_stop_speaker_pattern_enabled=true")
    text = "Sure.\nUser: and then"
    assert [line["kind"] for line in lines_of(chunk(*guard, "--json", text=text))] == [
        "message",
        "speaker_stop",
        "withheld",
    ]
    plain = chunk(*guard, text=text)
    assert plain.stdout == "Sure.\n"
    assert "'User'" in plain.stderr


def test_settings_of_every_kind() -> None:
    persona = '{"name": "Tomori", "sprites": [{"name": "mad", "avatar_url": "https://x.test/m"}]}'
    result = chunk(
        *("--set", f"persona={persona}"),
        *("--set", 'emojis=["<:soup:111111111111111111>"]'),
        *("--set", "output_prefill=Sure, "),
        *("--set", "emoji_usage_enabled=off"),
        *("--set", "paragraph_mode=blocks"),
        *("--set", "hold_limit=50"),
        "--json",
        text="Sure, ok\nTomori (mad): grr :soup:",
    )
    messages = [line for line in lines_of(result) if line["kind"] == "message"]
    assert [line["text"] for line in messages] == ["Sure, ok", "grr"]
    assert messages[1]["identity"]["username"] == "Tomori"


def test_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "answer.md"
    path.write_bytes(b"\xef\xbb\xbffrom\r\na file")
    assert chunk(str(path)).stdout == f"from\n{SEPARATOR}\na file\n"


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert chunk(text=b"a\xff\xfeb \xf0\x9f\x91").stdout == "a��b �\n"


BAD = [
    (["--degree", "9"], "0<=x<=3"),
    (["--degree", "two"], "'two' is not a valid integer"),
    (["--set", "hold_limit"], "write it as key=value"),
    (["--set", "hold_limt=9"], "did you mean 'hold_limit'?"),
    (["--set", "notify=first"], "--set notify: only settings of the text can be used here"),
    (["--set", "qqq=9"], "`oshaberi settings` lists them"),
    (["--set", "hold_limit=9"], "hold_limit: 9 is not a whole number from 50 to 4000"),
    (["--set", "hold_limit=many"], "hold_limit: 'many' is not a whole number from 50 to 4000"),
    (["--set", "emoji_usage_enabled=perhaps"], "neither true nor false"),
    (["--set", "paragraph_mode=words"], "is not one of: blocks, lines"),
    (["--set", "persona=Tomori"], "is not JSON"),
    (["--set", 'persona={"nam": 1}'], "persona.nam: no such key"),
    (["no-such-file.md"], "no-such-file.md: cannot be read: No such file or directory"),
    (["."], ".: cannot be read: Is a directory"),
    (["--jsn"], "No such option"),
    (["a", "b"], "unexpected extra argument"),
]


@pytest.mark.parametrize(("args", "reason"), BAD, ids=[" ".join(args) for args, _ in BAD])
def test_bad_input_is_refused(args: list[str], reason: str) -> None:
    result = chunk(*args, text="hello")
    said = str(result.exception) if isinstance(result.exception, OshaberiError) else result.stderr
    assert result.exit_code != 0
    assert reason in said
    assert result.stdout == ""
