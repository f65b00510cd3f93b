"""What the files in deploy/ say must be what the program understands, and be safe."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from oshaberi.bot.config import LoadedSettings, load
from oshaberi.bot.config.all_settings import DECLARED
from oshaberi.bot.storage.secret_vault import VARIABLE as SECRET_KEY
from oshaberi.bot.storage.secret_vault import SecretVault
from oshaberi.bot.turns.channel_turns import REACTION_SECONDS
from oshaberi.bot.turns.running.queue_runner import LAST_SECONDS
from oshaberi.cli.command_group import BAD_INPUT, CONFIGURATION, TEMPORARY
from tests.deploy.deploy_files import DEPLOY, compose_services, text_of, unit
from tests.deploy.dockerfile import Copy, ignore_rules, is_ignored, read_dockerfile
from tests.pinned_requirements import BUILD_FILE, OURS, build_requirements, image_extras, pinned

ROOT = Path(__file__).parents[2]
NAMES = ("Dockerfile", "compose.yaml", "oshaberi.service")
SETTINGS = {f"OSHABERI_{key.upper()}" for key in DECLARED} | {SECRET_KEY}
MOST_EXPOSED = 4.0
"""What `systemd-analyze security` may say of the unit; 10 is the worst."""


def program(name: str, needed_in_ci: bool) -> str:
    """Where it is; without it the test is skipped, or fails where CI must have it."""
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        if needed_in_ci and os.environ.get("CI") == "true":
            pytest.fail(f"{name} is not installed; .ci/run should have done it")
        pytest.skip(f"{name} is not installed")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_variable_is_a_setting(name: str) -> None:
    named = set(re.findall(r"OSHABERI_[A-Z_]+", text_of(name)))
    assert named
    assert named <= SETTINGS


@pytest.mark.parametrize("path", sorted(DEPLOY.iterdir()), ids=lambda path: path.name)
def test_no_file_names_a_registry(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"index-url|find-links (?!/)|trusted-host", text)
    # A service of the compose file has a name without a dot.
    hosts = re.findall(r"https?://([^/:\s\"']+)", text)
    assert [host for host in hosts if "." in host and host != "127.0.0.1"] == []
    for image in re.findall(r"(?m)^\s*(?:FROM|image:) (\S+)", text):
        assert "." not in image.partition("/")[0].partition(":")[0], image


# -- Docker ---------------------------------------------------------------------------------------


def test_hadolint_finds_nothing() -> None:
    hadolint = program("hadolint", needed_in_ci=False)
    command = [hadolint, "--no-color", str(DEPLOY / "Dockerfile")]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (told.stdout, told.returncode) == ("", 0)


def test_the_image_runs_as_a_number_and_is_told_to_end() -> None:
    final = text_of("Dockerfile").rpartition("\nFROM ")[2]
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", final, re.MULTILINE)
    assert "STOPSIGNAL SIGTERM" in final
    assert "HEALTHCHECK" in final
    assert 'ENTRYPOINT ["/opt/oshaberi/bin/oshaberi"]' in final  # no shell between the signals


def test_dependencies_are_a_layer_of_their_own() -> None:
    """A change of the program does not install them again."""
    text = text_of("Dockerfile")
    assert text.index("--requirement requirements.txt") < text.index("COPY src")


def test_nothing_is_installed_without_its_hash() -> None:
    """Each `pip install` has them, or takes nothing but the wheel that was built here."""
    installs = re.findall(r"pip (?:install|wheel) [^&\n]*(?:\\\n[^&\n]*)*", text_of("Dockerfile"))
    assert len(installs) == 4
    for one in installs:
        own = "--no-index" in one or ("--no-deps" in one and "--no-build-isolation" in one)
        assert "--require-hashes" in one or own, one


def test_images_have_a_version() -> None:
    images = [stage.base for stage in read_dockerfile(text_of("Dockerfile"))]
    images += [one["image"] for one in services().values() if "image" in one]
    assert len(images) == 4
    for image in images:
        assert re.fullmatch(r"[a-z]+:\d[\w.-]*", image), image


def test_a_digest_fixes_each_image() -> None:
    """Docker reads the arguments and compose the variables that docs/deploying.md names."""
    fixed = {name: f"some/image@sha256:{name.lower()}" for name in IMAGES}
    text = text_of("Dockerfile").replace("python:3.12-slim\nFROM", f"{fixed['PYTHON_IMAGE']}\nFROM")
    assert {stage.base for stage in read_dockerfile(text)} == {fixed["PYTHON_IMAGE"]}
    chosen = compose_services(environ={**GIVEN, **fixed})
    assert chosen["bot"]["build"]["args"] == {"PYTHON_IMAGE": fixed["PYTHON_IMAGE"]}
    assert chosen["postgres"]["image"] == fixed["POSTGRES_IMAGE"]
    assert chosen["redis"]["image"] == fixed["REDIS_IMAGE"]
    page = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")
    assert all(name in page for name in IMAGES)


def test_what_the_image_copies_is_there_and_is_not_ignored() -> None:
    """And it is all that a build needs: the files that pyproject.toml names."""
    rules = ignore_rules(text_of("Dockerfile.dockerignore"))
    steps = [step for stage in read_dockerfile(text_of("Dockerfile")) for step in stage.steps]
    copies = [step for step in steps if isinstance(step, Copy) and step.stage is None]
    copied = {source for step in copies for source in step.sources}
    for path in copied:
        assert (ROOT / path).exists(), path
        assert not is_ignored(path, rules), path
    for prefix, own in {"": project(), "stage/": project("stage")}.items():
        named = {own["readme"], *own["license-files"], "pyproject.toml", "src"}
        assert {f"{prefix}{name}" for name in named} <= copied
    assert "hatch_build.py" in copied
    for secret in ("deploy/.env", ".git/config", "oshaberi.toml", "src/oshaberi/__pycache__/x.pyc"):
        assert is_ignored(secret, rules), secret


@pytest.mark.parametrize("place", ["deploy/Dockerfile", "docs/deploying.md"])
def test_the_extras_exist(place: str) -> None:
    named = re.findall(r'"[^"\s]*\[([\w,]+)\]"', (ROOT / place).read_text(encoding="utf-8"))
    assert named
    for extras in named:
        assert set(extras.split(",")) <= set(project()["optional-dependencies"])


def project(folder: str = ".") -> dict[str, Any]:
    text = (ROOT / folder / "pyproject.toml").read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text)["project"]
    return found


def test_the_pinned_versions_are_allowed() -> None:
    pins = pinned()
    extras = project()["optional-dependencies"]
    wanted = [*project()["dependencies"], *project("stage")["dependencies"]]
    wanted += [one for name in image_extras() for one in extras[name]]
    for one in map(Requirement, wanted):
        name = one.name.lower().replace(".", "-")
        if name in OURS:
            continue
        assert one.specifier.contains(pins[name]), f"{one} does not allow {pins[name]}"


def test_what_builds_the_wheel_is_pinned_too() -> None:
    pins = pinned(BUILD_FILE)
    for one in map(Requirement, build_requirements()):
        assert one.specifier.contains(pins[one.name]), f"{one} does not allow {pins[one.name]}"


# -- Compose --------------------------------------------------------------------------------------


IMAGES = ("PYTHON_IMAGE", "POSTGRES_IMAGE", "REDIS_IMAGE")
GIVEN = {
    "OSHABERI_DISCORD_TOKEN": "secret",
    SECRET_KEY: "secret",
    "POSTGRES_PASSWORD": "secret",
    "REDIS_PASSWORD": "another",
}
"""What deploy/.env must have."""


def services() -> dict[str, Any]:
    return compose_services(environ=GIVEN)


@pytest.mark.parametrize("name", GIVEN)
def test_compose_does_not_start_without(name: str) -> None:
    with pytest.raises(KeyError, match=f"{name}: set it in deploy/.env"):
        compose_services(environ={**GIVEN, name: ""})


def test_what_compose_sets_can_be_read() -> None:
    settings = load(None, services()["bot"]["environment"])
    assert settings.database_url.startswith("postgresql+asyncpg://oshaberi:secret@postgres/")
    assert (settings.health_port, settings.log_format) == (8421, "json")
    assert settings.redis_url == "redis://:another@redis:6379/0"
    assert settings.status_token is None
    token = "s" * 20
    chosen = compose_services(environ={**GIVEN, "OSHABERI_STATUS_TOKEN": token})
    assert load(None, chosen["bot"]["environment"]).status_token == token


@pytest.mark.parametrize("name", services())
def test_every_container_is_confined(name: str) -> None:
    one = services()[name]
    assert one["cap_drop"] == ["ALL"]
    assert one["security_opt"] == ["no-new-privileges:true"]
    assert one["init"] is True
    assert re.fullmatch(r"\d+[mg]", one["mem_limit"])
    assert one["pids_limit"] <= 256
    assert one["logging"]["options"].keys() == {"max-size", "max-file"}


def test_the_bot_needs_no_rights_and_no_root_file_system() -> None:
    bot = services()["bot"]
    assert "cap_add" not in bot
    assert "privileged" not in bot
    assert bot["read_only"] is True
    assert bot["tmpfs"] == ["/tmp"]


@pytest.mark.parametrize("files", [(), ("compose.yaml", "compose.sharded.yaml")])
def test_no_port_is_open_to_other_machines(files: tuple[str, ...]) -> None:
    found = compose_services(*files, environ=GIVEN)
    ports = {name: one["ports"] for name, one in found.items() if "ports" in one}
    assert list(ports) == ["bot"]
    [published] = ports["bot"]
    assert published.startswith("127.0.0.1:")
    assert published.endswith(f":{found['bot']['environment']['OSHABERI_HEALTH_PORT']}")
    assert not [name for name, one in found.items() if "network_mode" in one]


def test_no_command_line_shows_a_password() -> None:
    """Everybody on the machine can read the command lines of all containers."""
    shown = str([one.get("command") for one in services().values()])
    assert "another" not in shown
    assert "secret" not in shown


def test_a_service_never_runs_the_stage() -> None:
    image = read_dockerfile(text_of("Dockerfile"))[-1]
    assert image.command == ("run", "--discord")
    assert services()["bot"]["command"] == ["run", "--discord"]
    assert unit("ExecStart").endswith("/oshaberi run --discord")


# -- systemd --------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["compose", "unit"])
def test_nobody_is_killed_who_ends_gracefully(given: str) -> None:
    patience = (
        services()["bot"]["stop_grace_period"] if given == "compose" else unit("TimeoutStopSec")
    )
    needed_s = LoadedSettings().shutdown_grace_s + LAST_SECONDS + REACTION_SECONDS
    assert int(patience.removesuffix("s")) > needed_s


def test_systemd_is_told_and_starts_again_what_may_pass() -> None:
    assert (unit("Type"), unit("NotifyAccess"), unit("Restart")) == ("notify", "main", "on-failure")
    assert int(unit("WatchdogSec")) >= 30
    kept_down = {int(one) for one in unit("RestartPreventExitStatus").split()}
    assert kept_down == {BAD_INPUT, CONFIGURATION}
    assert TEMPORARY not in kept_down


def test_systemd_understands_the_service(tmp_path: Path) -> None:
    """But for the program, which is not installed where tests run."""
    analyze = program("systemd-analyze", needed_in_ci=True)
    copy = tmp_path / "oshaberi.service"
    copy.write_text(text_of("oshaberi.service").replace("/opt/oshaberi/bin/oshaberi", "/bin/true"))
    told = subprocess.run(
        [analyze, "verify", str(copy)], capture_output=True, text=True, timeout=60
    )
    ours = [line for line in told.stderr.splitlines() if "oshaberi" in line]
    assert (ours, told.returncode) == ([], 0)


def test_the_service_is_confined() -> None:
    analyze = program("systemd-analyze", needed_in_ci=True)
    command = [
        analyze,
        "security",
        "--offline=true",
        "--no-pager",
        str(DEPLOY / "oshaberi.service"),
    ]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    found = re.search(r"exposure level for oshaberi\.service: ([\d.]+)", told.stdout)
    assert found is not None, told.stdout + told.stderr
    assert float(found[1]) <= MOST_EXPOSED


# -- what the page says ---------------------------------------------------------------------------


def test_the_secret_key_of_the_page_is_one() -> None:
    """Somebody who has only Docker needs it before the image is built."""
    page = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")
    [command] = re.findall(r"To create a secret key: `([^`]+)`", page)
    program("openssl", needed_in_ci=False)
    made = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    vault = SecretVault([made.stdout.strip()])
    assert vault.decrypt(vault.encrypt("some key")) == "some key"
