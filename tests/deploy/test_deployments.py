"""What a deploy file says is run: the image is built, and each way to start it answers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from discord_stage import Settings, Stage
from tests.crash.crash_world import world
from tests.crash.numbered_lines_model import instant_model
from tests.deploy.container import (
    ROOT,
    BuildError,
    Container,
    build_image,
    docker_engine,
    need_namespaces,
)
from tests.deploy.deployments import KINDS, Deployment
from tests.pinned_requirements import OURS, pinned

pytestmark = pytest.mark.slow
ENOUGH_S = 600
TAG = "oshaberi-under-test"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Container:
    need_namespaces()
    folder = tmp_path_factory.mktemp("image")
    for one in (folder, *folder.parents[:2]):
        one.chmod(0o755)  # the image's user has to get through
    return build_image(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_files_say_answers_a_question(kind: str, image: Container) -> None:
    program = [sys.executable, "-m", "tests.deploy.deployments", kind, str(image.root)]
    done = subprocess.run(
        ["unshare", "--net", *program], cwd=ROOT, capture_output=True, text=True, timeout=ENOUGH_S
    )
    assert done.returncode == 0, done.stderr[-8000:]


def test_the_image_has_nothing_that_the_requirements_do_not_name(image: Container) -> None:
    ours = [word for name in OURS for word in ("--exclude", name)]
    listed = image.run("/opt/oshaberi/bin/pip", "freeze", *ours)
    found = dict(line.split("==") for line in listed.stdout.split())
    installed = {canonicalize_name(name): version for name, version in found.items()}
    assert installed
    assert installed.items() <= pinned().items()
    assert image.run("/opt/oshaberi/bin/pip", "check").returncode == 0


def test_a_file_that_is_not_copied_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault that stopped every build: the ignore file kept the build's own hook out."""
    need_namespaces()
    copy = tmp_path / "Dockerfile"
    copy.write_text((ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8"))
    ignore = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text(encoding="utf-8")
    (tmp_path / "Dockerfile.dockerignore").write_text(ignore.replace("!hatch_build.py\n", ""))
    monkeypatch.setattr("tests.deploy.container.DOCKERFILE", copy)
    with pytest.raises(BuildError, match=r"COPY hatch_build\.py: not found"):
        build_image(tmp_path / "image", steps_to_run=False)


def test_docker_builds_and_starts_the_image(tmp_path: Path) -> None:
    """Where there is an engine."""
    docker = docker_engine()
    if docker is None:
        pytest.skip("no Docker engine here; the image is built without one above")
    building = [docker, "build", "--file", "deploy/Dockerfile", "--tag", TAG, "."]
    subprocess.run(building, cwd=ROOT, check=True, timeout=ENOUGH_S)

    async def main() -> None:
        async with instant_model() as model, Stage(world(), Settings(rate_limits=False)) as stage:
            unused = Container(tmp_path, tmp_path, None)  # type: ignore[arg-type]
            deployment = Deployment(unused, tmp_path, stage, model)
            given = [f"--env={name}={value}" for name, value in deployment.told.items()]
            confined = ["--read-only", "--tmpfs=/tmp", "--cap-drop=ALL", "--network=host"]
            command = [docker, "run", "--rm", "--init", *confined, *given, TAG]
            with subprocess.Popen(command) as process:
                try:
                    await deployment.answers(process)
                finally:
                    process.terminate()
                assert await asyncio.to_thread(process.wait, ENOUGH_S) == 0

    asyncio.run(main())
    tried = subprocess.run([docker, "run", "--rm", TAG], capture_output=True, timeout=ENOUGH_S)
    assert tried.returncode == 78
