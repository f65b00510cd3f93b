"""A settings file with a mistake: the line, the key, and in plain words what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from oshaberi.bot.config import load
from oshaberi.errors import ConfigError

MISTAKES = (
    ("discord_token = abc-secret", "line 1 (discord_token): texts need quotes"),
    ("a = 1\nhumanizer_degree = ", "line 2 (humanizer_degree): there is no value after the ="),
    ("render_tables = True", "line 1 (render_tables): write true and false in small letters"),
    ("notify = None", "line 1 (notify): leave the line out"),
    ("notify = “all”", "line 1 (notify): use straight quotes"),
    ("humanizer_degree", "line 1: there is no = after the key"),
    ("= 3", "line 1: this is neither"),
    ("[models\nx = 1", "line 1: the heading of the table has no end"),
    ('notify = "all', "line 1 (notify): the text has no end"),
    ("notify = 'all", "line 1 (notify): the text has no end"),
    ('notify = """all\nday', "line 2: the text has no end"),
    ('tools = ["a", ', "line 1 (tools): the list cannot be read"),
    ("persona = { name ", "line 1 (persona): there is no = after the key"),
    ('data_dir = "C:\\path"', "line 1 (data_dir): write \\\\ for a backslash"),
    ('notify = "all" reply_mode = "auto"', "line 1 (notify): a line has one setting"),
    ('notify = "all"\nnotify = "first"', "line 2 (notify): this is in the file twice"),
    ('[persona]\nname = "a"\n[persona]', "line 3: this table is in the file twice"),
)
KEYS = (
    (
        '[[models]]\nprovider = "openai"\nmodle = "x"',
        "models[0].modle: no such key; did you mean 'model'?",
    ),
    ('[persona]\nname = "x"\npromt = "y"', "persona.promt: no such key; did you mean 'prompt'?"),
    ('[mcp_servers.files]\ncomand = "x"', "comand: no such key; did you mean 'command'?"),
    (
        '[[models]]\nprovider = "openai"\nmodel = "x"\nprice = { input = 1, outptu = 2 }',
        "price.outptu: no such key; did you mean 'output'?",
    ),
    ('[persona]\nname = "x"\nzzz = "y"', "persona.zzz: no such key; there are name, prompt"),
    ("humaniser_degree = 2", "did you mean 'humanizer_degree'?"),
    ('[[model]]\nprovider = "x"', "did you mean 'models'?"),
)


def refusal(folder: Path, toml: str) -> str:
    file = folder / "oshaberi.toml"
    file.write_text(toml, encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        load(file, {})
    return str(refused.value)


@pytest.mark.parametrize(("toml", "told"), MISTAKES)
def test_a_file_that_is_not_toml(toml: str, told: str, tmp_path: Path) -> None:
    line = refusal(tmp_path, toml)
    assert f"oshaberi.toml, {told}" in line
    assert "\n" not in line
    assert "secret" not in line


@pytest.mark.parametrize(("toml", "told"), KEYS)
def test_a_misspelt_key(toml: str, told: str, tmp_path: Path) -> None:
    """It comes first, also where it explains why another key is missing."""
    assert told in refusal(tmp_path, toml)


def test_an_address_is_made_whole(tmp_path: Path) -> None:
    file = tmp_path / "oshaberi.toml"
    entry = '[[models]]\nprovider = "openai"\nmodel = "x"\nbase_url = '
    file.write_text(f'{entry}"localhost:8080"')
    assert load(file, {}).models[0].base_url == "http://localhost:8080/v1"
    assert "is not an address like" in refusal(tmp_path, f'{entry}"ftp://x.test"')
