"""`oshaberi config show`: values, origins, masks, and one line for what is wrong."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from urllib.parse import quote

import pytest

from oshaberi import cli
from oshaberi.bot.config import DECLARED

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
        ("oh no", "oshaberi.toml, line 1: there is no = after the key"),
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


PASSWORD = "p@ss/w0rd-of-the-db"
HEADER = "gh-header-value-1"
KEY = "plainlookingkeyfortests"
BASIC = b64encode(b"somebody:another-password").decode()
REPEATED = f"""
discord_token = "{TOKEN}"
instance = "main-{TOKEN}"
database_url = "postgresql://bot:{quote(PASSWORD, safe="")}@db/x"
redis_url = "redis://cache/0?client={TOKEN}"
tools = ["tools_{KEY}"]
[persona]
name = "Aiko"
prompt = "Never say {PASSWORD}, {KEY} or {HEADER}; nor {quote(TOKEN + "/", safe="")}."
avatar_url = "https://cdn.test/{TOKEN}/a.png"
[[models]]
provider = "openai"
model = "m"
base_url = "https://proxy.test/{KEY}/v1"
api_keys = ["{KEY}"]
params = {{ "{KEY}" = "x" }}
[[models]]
provider = "openai"
model = "{{env}}"
api_key_env = "OTHER_KEY"
[mcp_servers.a]
command = "serve"
args = ["--token", "{TOKEN}", "--login", "{b64encode(TOKEN.encode()).decode()}"]
cwd = "/srv/{KEY}"
[mcp_servers.b]
url = "https://tools.test/{HEADER}/{TOKEN}"
headers = {{ Authorization = "Bearer {HEADER}", Other = "Basic {BASIC}" }}
"""


@pytest.mark.parametrize("options", [["--json"], []])
def test_a_secret_is_masked_wherever_it_is_repeated(
    options: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from_variable = "key-from-a-variable"
    monkeypatch.setenv("OTHER_KEY", from_variable)
    monkeypatch.setattr("oshaberi.cli.commands.config.LONGEST", 10_000)
    file = tmp_path / f"{TOKEN}.toml"
    file.write_text(REPEATED.replace("{env}", f"m-{from_variable}"))
    assert cli.main(["config", "show", *options, "--config", str(file)]) == 0
    out = capsys.readouterr().out
    for secret in (TOKEN, PASSWORD, quote(PASSWORD, safe=""), HEADER, KEY, from_variable, BASIC):
        assert secret not in out
    assert b64encode(TOKEN.encode()).decode() not in out
    assert "main-[secret]" in out
    assert "https://proxy.test/[secret]/v1" in out
    assert "postgresql://bot:[secret]@db/x" in out


def test_a_short_value_masks_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`env = { DEBUG = "1" }` is no reason to hide every 1."""
    (tmp_path / "oshaberi.toml").write_text(
        'hold_limit = 1001\n[mcp_servers.a]\ncommand = "serve"\nenv = { DEBUG = "1", L = "info" }'
    )
    assert cli.main(["config", "show", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["hold_limit"]["value"] == 1001
    assert shown["log_level"]["value"] == "info"
    assert shown["mcp_servers"]["value"]["a"]["env"] == {"DEBUG": "[secret]", "L": "[secret]"}
