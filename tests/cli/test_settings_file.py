"""examples/oshaberi.toml has every setting with its default, and can be used.

`make generate` writes its settings again; its tables are written by hand.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from oshaberi.bot.config import DECLARED, LoadedSettings, Setting, load
from oshaberi.bot.config.all_settings import SECTIONS
from tests.cli.document_pages import ROOT, text_of

FILE = ROOT / "examples" / "oshaberi.toml"
TABLES = {"models", "persona", "mcp_servers", "server_limits"}
TITLES = (
    "What the messages are",
    "How they are read, paced and sent",
    "Who is answered, and what surrounds an answer",
    "The process",
)
BY_HAND = "# --- Who the bot is"
FOR_EXAMPLE = {
    "discord_token": "...",
    "discord_api_url": "http://localhost:8080",
    "data_dir": "/var/lib/oshaberi",
    "database_url": "postgresql://oshaberi:password@localhost/oshaberi",
    "redis_url": "redis://localhost:6379/0",
    "secret_key_file": "/etc/oshaberi/secret.key",
    "instance": "main",
    "health_host": "127.0.0.1",
    "status_token": "a long random text",
    "otel_endpoint": "http://localhost:4318",
}
"""Of those that have no default that could be written down."""
COLUMNS = 95


def head(text: str) -> Iterator[str]:
    """The words at the beginning, then the settings of each section."""
    yield text.partition("\n\n")[0]
    for section, title in zip(SECTIONS, TITLES, strict=True):
        yield f"\n# --- {title} ".ljust(COLUMNS + 1, "-") + "\n"
        for setting in DECLARED.values():
            if setting.section is section and setting.name not in TABLES:
                yield f"# {setting.what} ({_allowed(setting)})\n#{setting.name} = {_value(setting)}"


def written(text: str) -> str:
    """The file as the declarations have it."""
    _, mark, tail = text.partition(BY_HAND)
    return "\n".join(head(text)) + f"\n\n{mark}{tail}"


def _allowed(setting: Setting) -> str:
    about = setting.about
    if "low" in about:
        return f"{about['low']} to {about['high']}"
    allowed = ", ".join(about["choices"]) if "choices" in about else setting.allowed
    return allowed.removeprefix("a number from ").removesuffix(" that are not empty")


def _value(setting: Setting) -> str:
    if setting.name in FOR_EXAMPLE:
        return json.dumps(FOR_EXAMPLE[setting.name])
    default = setting.default
    listed = list(default) if isinstance(default, tuple) else default
    return json.dumps(listed, ensure_ascii=False)  # TOML has no halves of a character


def test_it_is_as_declared() -> None:
    text = text_of(FILE)
    assert text == written(text), "run: make generate"


def test_it_can_be_used_as_it_is() -> None:
    settings = load(FILE, {})
    assert settings.persona is not None
    assert settings.persona.triggers == ("mochi", "tea")
    assert [model.provider for model in settings.models] == ["openai", "ollama"]
    assert set(settings.mcp_servers) == {"kettle"}


def _all_on(tmp_path: Path) -> LoadedSettings:
    path = tmp_path / "oshaberi.toml"
    path.write_text(re.sub(r"^#(?=\S)", "", text_of(FILE), flags=re.MULTILINE), encoding="utf-8")
    return load(path, {"HOME": str(tmp_path)})


def test_everything_can_be_switched_on(tmp_path: Path) -> None:
    settings = _all_on(tmp_path)
    assert set(settings.origins) == set(DECLARED)
    assert settings.discord_token == "..."
    assert set(settings.mcp_servers) == {"kettle", "search"}


@pytest.mark.parametrize("key", sorted(DECLARED.keys() - TABLES - FOR_EXAMPLE.keys()))
def test_what_is_commented_out_is_the_default(key: str) -> None:
    [line] = re.findall(rf"^#({key} = .*)$", text_of(FILE), re.MULTILINE)
    value = tomllib.loads(line)[key]
    assert (tuple(value) if isinstance(value, list) else value) == DECLARED[key].default
