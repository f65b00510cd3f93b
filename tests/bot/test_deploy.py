"""What the files in deploy/ say must be what the program understands."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from oshaberi.bot.wiring import GRACE_SECONDS
from oshaberi.config import load
from oshaberi.config.setting_declarations import DECLARED
from oshaberi.storage.secret_vault import VARIABLE as SECRET_KEY
from oshaberi.turns.channel_turns import COURTESY_SECONDS, LAST_SECONDS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
NAMES = ("Dockerfile", "compose.yaml", "oshaberi.service")
SETTINGS = {f"OSHABERI_{key.upper()}" for key in DECLARED} | {SECRET_KEY}


def text_of(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_variable_is_a_setting(name: str) -> None:
    named = set(re.findall(r"OSHABERI_[A-Z_]+", text_of(name)))
    assert named
    assert named <= SETTINGS


def test_what_compose_sets_can_be_read() -> None:
    given = re.findall(r"^ +(OSHABERI_\w+): (.+)$", text_of("compose.yaml"), re.MULTILINE)
    environ = {key: re.sub(r"\$\{\w+:\?[^}]*\}", "secret", value) for key, value in given}
    settings = load(None, {key: value.strip('"') for key, value in environ.items()})
    assert settings.database_url.startswith("postgresql+asyncpg://oshaberi:secret@postgres/")
    assert (settings.health_port, settings.log_format) == (8421, "json")
    assert settings.redis_url is not None


@pytest.mark.parametrize("place", ["deploy/Dockerfile", "docs/deploying.md"])
def test_the_extras_exist(place: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r'"[^"\s]*\[([\w,]+)\]"', (ROOT / place).read_text(encoding="utf-8"))
    assert named
    for extras in named:
        assert set(extras.split(",")) <= set(project["optional-dependencies"])


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("compose.yaml", r"stop_grace_period: (\d+)s"),
        ("oshaberi.service", r"TimeoutStopSec=(\d+)"),
    ],
)
def test_nobody_is_killed_who_ends_gracefully(name: str, pattern: str) -> None:
    found = re.search(pattern, text_of(name))
    assert found is not None
    assert int(found[1]) > GRACE_SECONDS + LAST_SECONDS + COURTESY_SECONDS


def test_what_the_image_copies_is_there() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text_of("Dockerfile"), re.MULTILINE)
    assert copied
    for path in " ".join(copied).split():
        assert (ROOT / path).exists(), path


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_understands_the_service(tmp_path: Path) -> None:
    """But for the program, which is not installed where tests run."""
    unit = tmp_path / "oshaberi.service"
    unit.write_text(text_of("oshaberi.service").replace("/opt/oshaberi/bin/oshaberi", "/bin/true"))
    told = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60
    )
    ours = [line for line in told.stderr.splitlines() if "oshaberi" in line]
    assert (ours, told.returncode) == ([], 0)
