"""`oshaberi config show`: values, origins, masks, and one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oshaberi import cli
from oshaberi.config import DECLARED

TOKEN = "a-very-secret-token"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OSHABERI_DATA_DIR", str(tmp_path))
    (tmp_path / "oshaberi.toml").write_text(f'hold_limit = 300\ndiscord_token = "{TOKEN}"')


def test_every_setting_with_its_origin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OSHABERI_NOTIFY", "first")
    assert cli.main(["config", "show"]) == 0
    out = capsys.readouterr().out
    rows = [line.split(maxsplit=1) for line in out.splitlines()]
    assert [key for key, _ in rows] == list(DECLARED)
    shown = {key: rest.split() for key, rest in rows}
    assert shown["hold_limit"] == ["300", "oshaberi.toml"]
    assert shown["notify"] == ["first", "OSHABERI_NOTIFY"]
    assert shown["cooldown_ms"] == ["0", "default"]
    assert shown["discord_token"] == ["[secret]", "oshaberi.toml"]
    assert TOKEN not in out
    assert "\x1b" not in out


def test_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(f'[[models]]\nprovider = "openai"\nmodel = "m"\napi_keys = ["{TOKEN}"]')
    assert cli.main(["config", "show", "--json", "--config", str(other)]) == 0
    out = capsys.readouterr().out
    shown = json.loads(out)
    assert list(shown) == list(DECLARED)
    assert shown["hold_limit"] == {"value": 500, "from": "default"}
    assert shown["models"]["from"] == str(other)
    assert shown["models"]["value"][0]["api_keys"] == ["[secret]"]
    assert TOKEN not in out


@pytest.mark.parametrize(
    ("toml", "reason"),
    [
        ("hold_limit = 9", "hold_limit: 9 is not a whole number from 50 to 4000 (from oshaberi"),
        ("nonsense = 1", "nonsense: no such setting"),
        ("oh no", "oshaberi.toml: is not TOML"),
        (
            "nonsense = 1\nhold_limit = 9",
            "hold_limit: 9 is not a whole number from 50 to 4000 (from",
        ),
    ],
)
def test_what_is_wrong_is_one_line_and_status_2(
    toml: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "oshaberi.toml").write_text(toml)
    assert cli.main(["config", "show"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"oshaberi: {reason}")
    assert err.count("\n") == 1


def test_a_wrong_variable_is_one_line_and_status_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OSHABERI_AUTO_CHANNELS", "general")
    assert cli.main(["config", "show"]) == 2
    err = capsys.readouterr().err
    assert "auto_channels[0]: 'general' is not a list of ids (from OSHABERI_AUTO_CHANNELS)" in err
    assert err.count("\n") == 1
