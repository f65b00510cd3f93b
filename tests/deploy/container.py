"""Builds the image and runs programs in it, without a container engine.

A Dockerfile's steps are executed in an empty root, into which this machine's programs (`/usr`) and
a Python are mounted read-only as the base image. Nothing of the checkout can help but what COPY
lets through. That takes namespaces, and so root.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.deploy.dockerfile import (
    Copy,
    DockerfileError,
    ImageStage,
    Run,
    ignore_rules,
    is_ignored,
    read_dockerfile,
)

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
BUILD_S = 900
PIP_SETTINGS = "pip-of-this-machine.conf"
_ENTER = """
set -eu
root=$1 python=$2 read_only=$3; shift 3
mount --bind "$root" "$root"
for name in usr $(cd / && ls -d bin lib lib64 sbin); do
  [ -L "/$name" ] || mount --bind -o ro "/$name" "$root/$name"
done
mount --bind -o ro "$python" "$root/usr/local"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do
  mount --bind -o "$1" "$2" "$root$3"; shift 3
done
shift
if [ "$read_only" = 1 ]; then mount -o remount,bind,ro "$root"; fi
exec chroot "$root" "$@"
"""
"""In a mount namespace of its own: what to mount (how, from, to), `--`, and the command."""


class BuildError(AssertionError):
    """A step of the Dockerfile failed, as it would with Docker."""


def docker_engine() -> str | None:
    """The client, if an engine answers it."""
    client = shutil.which("docker")
    answers = client and subprocess.run([client, "info"], capture_output=True).returncode == 0
    return client if answers else None


def need_namespaces() -> None:
    """Skip the test where a root cannot be made; in CI without Docker that is a failure."""
    tried = subprocess.run(["unshare", "--mount", "--net", "true"], capture_output=True, text=True)
    if tried.returncode == 0:
        return
    if os.environ.get("CI") == "true" and docker_engine() is None:
        pytest.fail(f"the image cannot be tried: {tried.stderr.strip()}")
    pytest.skip("building the image without Docker needs root and namespaces")


@dataclass(frozen=True, slots=True)
class Container:
    """A root folder, and what its image says about it."""

    root: Path
    python: Path
    stage: ImageStage
    mounts: tuple[tuple[Path, str], ...] = ()
    stores: tuple[Path, ...] = ()
    """Folders of this machine that are at the same place inside, read-only."""
    environ: Mapping[str, str] = field(default_factory=dict)
    read_only: bool = False

    def command(
        self, words: Sequence[str], user: str | None = None, workdir: str | None = None
    ) -> list[str]:
        """What runs these words inside, as the image's user and without any right of root."""
        uid, _, gid = (user or self.stage.user).partition(":")
        shown = [part for one in self.stores for part in ("ro", str(one), str(one))]
        shown += [part for folder, target in self.mounts for part in ("rw", str(folder), target)]
        entering = ["unshare", "--mount", "sh", "-c", _ENTER, "sh", str(self.root)]
        entering += [str(self.python), str(int(self.read_only)), *shown, "--"]
        dropping = ["setpriv", f"--reuid={uid}", f"--regid={gid or uid}", "--clear-groups"]
        if uid != "0":
            dropping += ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
        inside = ["sh", "-c", 'cd "$0" && exec "$@"', workdir or self.stage.workdir]
        return [*entering, *dropping, *inside, *words]

    def start(self, *words: str, log: Path) -> subprocess.Popen[bytes]:
        """ENTRYPOINT with these words, or with CMD. Signals reach the program itself."""
        whole = [*self.stage.entrypoint, *(words or self.stage.command)]
        with log.open("ab") as told:
            return subprocess.Popen(
                self.command(whole), env=self._variables(), stdout=told, stderr=told
            )

    def run(
        self, *words: str, user: str | None = None, workdir: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """One program beside it, such as a health check."""
        return subprocess.run(
            self.command(words, user, workdir),
            env=self._variables(),
            capture_output=True,
            text=True,
            timeout=BUILD_S,
        )

    def _variables(self) -> dict[str, str]:
        return {**self.stage.environ, **self.environ}


def stop(process: subprocess.Popen[bytes], name: str, within_s: float) -> int:
    """As a service manager does it: the stop signal, and later no mercy."""
    process.send_signal(signal.Signals[name])
    try:
        return process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


def build_image(folder: Path, *, steps_to_run: bool = True) -> Container:
    """Execute the Dockerfile; what its last stage leaves is the image.

    Without `steps_to_run` only the files of the context are copied, which is quick.
    """
    ignore = DOCKERFILE.with_name("Dockerfile.dockerignore").read_text(encoding="utf-8")
    stages = read_dockerfile(DOCKERFILE.read_text(encoding="utf-8"))
    built: dict[str, Container] = {}
    for stage in stages:
        container = _base(folder / stage.name, stage)
        for step in stage.steps:
            if isinstance(step, Copy) and step.stage is None:
                _copy_context(step, container.root, ignore_rules(ignore))
            elif not steps_to_run:
                continue
            elif isinstance(step, Run):
                _execute(container, step)
            else:
                _copy_stage(step, built[str(step.stage)].root, container.root)
        built[stage.name] = container
    return built[stages[-1].name]


def opened_image(root: Path) -> Container:
    """An image that was built before."""
    stage = read_dockerfile(DOCKERFILE.read_text(encoding="utf-8"))[-1]
    return Container(root, _python(stage.base), stage)


def _base(root: Path, stage: ImageStage) -> Container:
    """An empty root with the folders of a system, and a copy of this machine's /etc."""
    for name in ("dev", "opt", "proc", "root", "tmp", "usr", "var/lib"):
        (root / name).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    for name in ("bin", "lib", "lib64", "sbin"):
        there = Path("/", name)
        if there.is_symlink():
            (root / name).symlink_to(there.readlink())
        elif there.exists():
            (root / name).mkdir()
    subprocess.run(["cp", "--archive", "/etc", str(root)], check=True)
    hosts = root / "etc" / "resolv.conf"
    if hosts.is_symlink():
        hosts.unlink()
        shutil.copy("/etc/resolv.conf", hosts)
    container = Container(root, _python(stage.base), stage)
    # The Python may have a library of its own.
    linked = container.run(
        "ldconfig", user="0", workdir="/"
    )  # the base image's Python may have a library
    if linked.returncode:
        raise BuildError(linked.stderr)
    return container


def _python(base: str) -> Path:
    """The folder of the Python that the base image names, or of the one that runs the tests."""
    found = re.fullmatch(r"python:(\d+\.\d+)\S*", base)
    if found is None:
        raise DockerfileError(f"FROM {base}: only images of Python are understood here")
    name = f"python{found[1]}"
    versions = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    candidates = [shutil.which(name), *map(str, versions.glob(f"*/bin/{name}"))]
    question = "import sys; print(sys.base_prefix)"
    for program in filter(None, candidates):
        asked = subprocess.run([program, "-c", question], capture_output=True, text=True)
        prefix = Path(asked.stdout.strip() or "/usr")
        if asked.returncode == 0 and prefix != Path("/usr") and (prefix / "bin/python").exists():
            return prefix
    return Path(sys.base_prefix)


def _execute(container: Container, step: Run) -> None:
    """With this machine's way to the package index, which is no part of the image."""
    own = {key: value for key, value in os.environ.items() if key.startswith("PIP_")}
    stores = _package_stores()
    for folder in (step.workdir, *map(str, stores)):
        (container.root / folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
    environ = {**own, "PIP_CONFIG_FILE": _pip_settings(container.root), **step.environ}
    running = replace(container, stores=stores, environ={"HOME": "/root", **environ})
    done = running.run("/bin/sh", "-c", step.line, user=step.user, workdir=step.workdir)
    (container.root / "etc" / PIP_SETTINGS).unlink()
    if done.returncode:
        raise BuildError(f"RUN {step.line}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")


def _pip_settings(root: Path) -> str:
    """Put the user's settings of pip where the program in the root finds them."""
    own = Path("~/.config/pip/pip.conf").expanduser()
    (root / "etc" / PIP_SETTINGS).write_text(own.read_text() if own.exists() else "")
    return f"/etc/{PIP_SETTINGS}"


def _package_stores() -> tuple[Path, ...]:
    """Folders with packages that pip is told of here, each with all that belongs to it."""
    asked = [sys.executable, "-m", "pip", "config", "list"]
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    named = [Path(one) for one in re.findall(r"(?<![\w:/])(?:file://)?(/[^\s']+)", told)]
    return tuple(sorted({Path(*one.parts[:3]) for one in named if one.is_dir()}))


def _copy_context(step: Copy, root: Path, rules: list[tuple[re.Pattern[str], bool]]) -> None:
    target = root / (Path(step.workdir) / step.target).relative_to("/")
    for source in step.sources:
        files = [source] if (ROOT / source).is_file() else _files(ROOT / source)
        sent = [one for one in files if not is_ignored(one, rules)]
        if not sent:
            raise BuildError(f"COPY {source}: not found, or the ignore file keeps it out")
        for one in sent:
            inside = Path(one).name if one == source else Path(one).relative_to(source)
            (target / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / one, target / inside)


def _files(folder: Path) -> list[str]:
    return [str(one.relative_to(ROOT)) for one in folder.rglob("*") if one.is_file()]


def _copy_stage(step: Copy, source: Path, root: Path) -> None:
    [named] = step.sources
    target = root / step.target.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    copied = subprocess.run(["cp", "--archive", str(source / named.lstrip("/")), str(target)])
    if copied.returncode:
        raise BuildError(f"COPY --from={step.stage} {named}: not found")
