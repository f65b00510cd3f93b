"""Who uses a setting's old name is told its new one; no setting of a release vanishes silently."""

from __future__ import annotations

from pathlib import Path

import pytest

from oshaberi.bot.config import DECLARED, effective, load, parse_server_value
from oshaberi.bot.config.all_settings import RENAMED
from oshaberi.errors import ConfigError

RELEASES = sorted((Path(__file__).parent / "releases").glob("*.txt"))


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.stem)
def test_every_setting_of_a_release_is_known(release: Path) -> None:
    names = release.read_text(encoding="utf-8").split()
    assert len(names) > 50
    assert [name for name in names if name not in DECLARED and name not in RENAMED] == []


def test_the_table_leads_to_settings() -> None:
    assert set(RENAMED.values()) <= set(DECLARED)
    assert set(RENAMED) & set(DECLARED) == set()


@pytest.fixture
def _renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RENAMED, "chattiness", "humanizer_degree")
    monkeypatch.setitem(RENAMED, "db", "database_url")


@pytest.mark.usefixtures("_renamed")
def test_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "oshaberi.toml"
    file.write_text("chattiness = 1\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(file, {})
    told = "chattiness: no such setting; its name is 'humanizer_degree' now"
    assert str(caught.value) == f"{told} (from {file})"


@pytest.mark.usefixtures("_renamed")
def test_in_a_variable() -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, {"OSHABERI_DB": "sqlite:///x"})
    assert "OSHABERI_DB: no such setting; its name is 'database_url' now" in str(caught.value)
    assert "OSHABERI_DATABASE_URL" in str(caught.value)


@pytest.mark.usefixtures("_renamed")
def test_in_a_command() -> None:
    with pytest.raises(ConfigError, match="its name is 'humanizer_degree' now"):
        parse_server_value("chattiness", "1")


@pytest.mark.usefixtures("_renamed")
def test_what_a_server_stored_under_the_old_name_holds() -> None:
    settings = load(None, {})
    assert effective(settings, {"chattiness": 3}).stream.text.humanizer_degree == 3
    both = {"humanizer_degree": 1, "chattiness": 3}
    assert effective(settings, both).stream.text.humanizer_degree == 1
